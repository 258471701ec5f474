"""Many machines: how two actors of Ray share a file, and a thousand simulated workers that are preempted."""
