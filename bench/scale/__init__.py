"""Many machines: two actors of Ray that share a file, and a thousand simulated workers with preemption."""
