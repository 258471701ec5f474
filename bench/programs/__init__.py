"""The compiled program for benchmarks: with loops, with clocks, with other kernels."""
