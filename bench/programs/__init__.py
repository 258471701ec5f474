"""The compiled program as benchmarks want it: with loops, with clocks, with other kernels."""
