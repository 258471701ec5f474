"""Conversion of float32 matrices to integers and their scales; one module per scheme."""

from cpunmt.layers.schemes import code4, log4

CODEBOOKS = {"log4": log4.LEVELS, "code4": code4.LEVELS}  # of 4-bit schemes: int8 [16]
# The storage of weights, and the type of their products.
SCHEMES = {
    "int8": "int8",
    "int16": "int16",
    **dict.fromkeys(CODEBOOKS, "int8"),
    "float16": "float32",
    "float32": "float32",
}
