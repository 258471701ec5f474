"""Defines the kernels of `cpunmt.kernels.matmul` in NumPy: see `tests.definitions.kernels`."""

import numpy as np

from cpunmt.kernels.matmul.packing import unpack
from cpunmt.kernels.matmul.quantize_rows import (
    HALF,
    LARGEST,
    LARGEST_FLOAT,
    LARGEST_INVERSE,
    MIDDLE,
    OFFSET,
    ONE,
    PLANES,
    STEPS,
    ZERO,
)


def float_linear_reference(x, packed, columns, bias, relu=False) -> np.ndarray:
    """y = x W + b in float64: [rows, columns]."""
    out = x.astype(np.float64) @ unpack(packed, columns).astype(np.float64) + bias[:columns]
    return np.maximum(out, 0) if relu else out


def int16_matmul_reference(q: np.ndarray, packed: np.ndarray, columns: int) -> np.ndarray:
    """INTEGERS, for q int16 [rows, depth]: int64 [rows, columns]."""
    return q.astype(np.int64) @ unpack(packed, columns).astype(np.int64)


def int16_linear_reference(q, row_scales, packed, columns, scales, bias, relu=False) -> np.ndarray:
    """AFFINE or RELU in float64, after the conversion of the sums to float32: [rows, columns]."""
    sums = int16_matmul_reference(q, packed, columns).astype(np.float32).astype(np.float64)
    out = sums * scales[:columns].astype(np.float64) * row_scales[:, :1].astype(np.float64) + bias[:columns]
    return np.maximum(out, 0) if relu else out


def int8_matmul_reference(q: np.ndarray, packed: np.ndarray, columns: int) -> np.ndarray:
    """INTEGERS, for q int8 [rows, depth]: int32 [rows, columns]."""
    return q.astype(np.int32) @ unpack(packed, columns).astype(np.int32)


def sparse_matmul_reference(q, zeros, packed, columns) -> np.ndarray:
    """The same for rows in which zeros[row] stands for 0: the zeros together, then each difference."""
    weights = unpack(packed, columns).astype(np.int32)
    out = np.zeros((len(q), columns), np.int32)
    for row, zero in enumerate(zeros):
        out[row] = zero * weights.sum(axis=0, dtype=np.int32)
        for depth in np.flatnonzero(q[row] != zero):
            out[row] += (int(q[row, depth]) - zero) * weights[depth]
    return out


def int8_linear_reference(q, row_scales, packed, columns, scales, totals, bias, relu=False) -> np.ndarray:
    """AFFINE or RELU in float64, after the conversion of the sums to float32: [rows, columns]."""
    sums = int8_matmul_reference(q, packed, columns).astype(np.float32).astype(np.float64)
    scale, shift = row_scales.astype(np.float64).T[:, :, None]
    out = sums * scales[:columns].astype(np.float64) * scale + (shift * totals[:columns] + bias[:columns])
    return np.maximum(out, 0) if relu else out


def row_products_reference(rows, vectors, x, row_scales, pieces) -> np.ndarray:
    """Logits of int32 `pieces` in float64, after the conversion of integer sums to float32: [rows of x, pieces].

    rows          int8, int16 or float32 [pieces of the table, depth]
    vectors       of the table, by their names in records.TABLE, as far as its scheme has them
    x             of the rows' type: [rows, depth]
    row_scales    float32 [rows, 2]: scale and shift; integers only
    """
    chosen = {name: vector[pieces] for name, vector in vectors.items()}
    if rows.dtype == np.float32:
        return x.astype(np.float64) @ rows[pieces].T.astype(np.float64) + chosen["bias"]
    sums = x.astype(np.int64) @ rows[pieces].T.astype(np.int64) + chosen.get("start", 0)
    scale, shift = row_scales.astype(np.float64).T[:, :, None]
    values = sums.astype(np.float32).astype(np.float64) * chosen["scales"] * scale
    return values + shift * chosen.get("totals", 0.0) + chosen["bias"]


def quantize_rows_reference(x: np.ndarray, multiplier: float = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """float32 [rows, depth] -> (int8 [rows, depth], scales, shifts), float32 [rows]: the same bits as the kernel."""
    x = np.where(np.isnan(x), -LARGEST_FLOAT, np.clip(x, -LARGEST_FLOAT, LARGEST_FLOAT))
    if multiplier > 0:
        with np.errstate(over="ignore"):
            q = np.rint(np.clip(x * np.float32(multiplier), -LARGEST, LARGEST)).astype(np.int8)
        return q, np.ones(len(x), np.float32), np.zeros(len(x), np.float32)
    low, high = np.minimum(x.min(axis=1), ZERO), np.maximum(x.max(axis=1), ZERO)
    half = high * HALF - low * HALF
    with np.errstate(divide="ignore", over="ignore"):
        inverse = STEPS * HALF / half
    tiny = half < STEPS * HALF / LARGEST_INVERSE
    inverse = np.where(tiny, ZERO, inverse)
    scales = np.where(tiny, ONE, half / (STEPS * HALF))
    zeros = np.where(tiny, MIDDLE, np.rint(-low.astype(np.float64) * inverse)).astype(np.float32)
    product = x.astype(np.float64) * inverse[:, None]  # exact
    # the even of both integers' sum has the parity of the sum modulo 2
    odd = zeros[:, None] % 2
    steps = np.rint(product + odd) - odd + zeros[:, None]
    return (steps - 128).astype(np.int8), scales, (MIDDLE - zeros) * scales


def quantize_rows16_reference(x: np.ndarray, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """float32 [rows, depth] -> (int16 [rows, depth], scales), float32 [rows]: the same bits as the kernel."""
    x = np.where(np.isnan(x), -LARGEST_FLOAT, np.clip(x, -LARGEST_FLOAT, LARGEST_FLOAT))
    most, reach = np.abs(x).max(axis=1), np.float32(reach)
    with np.errstate(divide="ignore", over="ignore"):
        inverse = reach / most
    tiny = most < reach / LARGEST_INVERSE
    q = np.rint(x.astype(np.float64) * np.where(tiny, ZERO, inverse)[:, None]).astype(np.int16)
    return q, np.where(tiny, ONE, most / reach)


def stored_bytes(q: np.ndarray) -> np.ndarray:
    """int8 [rows, depth] as the kernels store it: uint8 [rows, PLANES * depth]."""
    planes = [(q.astype(np.int16) + OFFSET).astype(np.uint8)]
    if PLANES == 2:
        planes.append(np.abs(q.astype(np.int16)).astype(np.uint8))
    return np.concatenate(planes, axis=1)
