"""The product of rows that are mostly zeros, against the dense one."""
