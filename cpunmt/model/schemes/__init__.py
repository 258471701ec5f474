"""float32 matrices -> integers and their scales; one module per scheme."""

from cpunmt.model.schemes import code4, log4

CODEBOOKS = {"log4": log4.LEVELS, "code4": code4.LEVELS}  # of 4-bit schemes: int8 [16]
