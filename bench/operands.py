"""Operands of kernels for benchmarks: aligned arrays of random numbers, and records over them."""

import numpy as np

from cpunmt.kernels import records
from cpunmt.kernels.matmul.packing import PANEL

SCHEMES = ("int8", "codes", "int16", "float32")
_MULTIPLIED = {"int8": records.INT8, "codes": records.INT8, "int16": records.INT16, "float32": records.FLOAT32}
_TYPES = {"int8": np.int8, "codes": np.int8, "int16": np.int16, "float32": np.float32}
REACH = {"int16": 2047.0}  # of quantized activations; int8: each row's own


class Arena:
    """Aligned arrays that live as long as this object."""

    def __init__(self):
        self._kept = []
        self.random = np.random.default_rng(0)

    def keep(self, *things):
        self._kept += things

    def zeros(self, size, dtype=np.float32):
        memory = np.zeros(size * np.dtype(dtype).itemsize + 128, np.uint8)
        begin = -memory.ctypes.data % 64
        self._kept.append(memory)
        return memory[begin : begin + size * np.dtype(dtype).itemsize].view(dtype)

    def normal(self, size):
        array = self.zeros(size)
        array[:] = self.random.standard_normal(size)
        return array

    def integers(self, size, low, high, dtype):
        array = self.zeros(size, dtype)
        array[:] = self.random.integers(low, high, size, dtype)
        return array

    def linears(self, scheme, shapes):
        """Returns LINEAR records of random weights, one for each (depth, columns): int8, int8 with codes, int16 or
        float32.
        """
        found = np.zeros(len(shapes), records.LINEAR)
        self._kept.append(found)
        for record, (depth, columns) in zip(found, shapes, strict=True):
            size = depth * columns
            weights = self.normal(size) if scheme == "float32" else self.integers(size, -127, 128, _TYPES[scheme])
            vectors = {name: self.zeros(columns) for name in ("scales", "totals", "bias")}
            vectors["scales"][:] = 0.001
            vectors["start"] = self.zeros(columns, np.int32)
            if scheme == "codes":
                vectors["codes"] = self.integers(size // 2, 0, 256, np.uint8)
                vectors["levels"] = self.integers(16, -127, 128, np.int8)
            record["scheme"], record["depth"], record["panels"] = _MULTIPLIED[scheme], depth, columns // PANEL
            record["weights"] = weights.ctypes.data
            for name, vector in vectors.items():
                record[name] = vector.ctypes.data
        return found


def weight_bytes(scheme, shapes) -> float:
    """Returns the bytes that one row reads of weights of these shapes."""
    return {"int8": 1, "codes": 0.5, "int16": 2, "float32": 4}[scheme] * sum(
        depth * columns for depth, columns in shapes
    )


def product(program, arena, scheme, rows, depth, columns, mode=0):
    """Returns (run, operations): a function of n that multiplies `rows` rows by a random matrix n times."""
    linear, out = arena.linears(scheme, [(depth, columns)]), arena.zeros(rows * columns)
    x, q, scales = arena.normal(rows * depth), arena.zeros(rows * 2 * depth, np.uint8), arena.zeros(2 * rows)
    quantize(program, scheme, x, rows, depth, q, scales)
    if scheme == "float32":
        return lambda n: program.repeat_float_linear(n, linear, x, rows, out, mode), 2.0 * rows * depth * columns
    operands, operations = (linear, q, scales, rows, out, mode), 2.0 * rows * depth * columns
    if scheme == "int16":
        return lambda n: program.repeat_int16_linear(n, *operands), operations
    return lambda n: program.repeat_int8_linear(n, *operands, 0), operations


def quantize(program, scheme, x, rows, depth, q, scales):
    """Quantizes float rows for a product of that scheme."""
    if scheme == "int16":
        program.quantize_rows16(x, rows, depth, REACH["int16"], q, scales)
    elif scheme != "float32":
        program.quantize_rows(x, rows, depth, 0.0, q, scales)
