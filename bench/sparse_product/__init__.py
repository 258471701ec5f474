"""The product of mostly zero rows, against the dense one."""
