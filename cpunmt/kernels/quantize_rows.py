"""Quantization of activations: one scale per row, made where the floats are still in the first cache.

    scale[r] = max_k |x[r, k]| / 127            1 for a row of zeros
    q[r, k]  = round(x[r, k] * (127 / max))     half to even, in [-127, 127]

Symmetric per-row scheme; a scale never depends on another row, so neither does a translation on its batch.
How q is stored in bytes is the instruction set's affair: `simd/tile` OFFSET and PLANES.
"""

import numpy as np

from cpunmt.jit import address, count, kernel, real
from cpunmt.simd.intrinsics import store_f32
from cpunmt.simd.tile import OFFSET, PLANES
from cpunmt.simd.vector import absolute, largest, load, maximum, round_even, splat, splat_int, store_bytes, to_ints

LARGEST = np.float32(127.0)


@kernel
def quantize_row(x: address, depth: count, q: address) -> real:
    """Quantize float32 [depth] (a multiple of 16) into bytes [PLANES * depth]; returns the scale."""
    peak = splat(np.float32(0.0))
    for k in range(0, depth, 16):
        peak = maximum(peak, absolute(load(x, k)))
    most = largest(peak)
    scale, inverse = np.float32(1.0), np.float32(1.0)
    if most > np.float32(0.0):
        scale, inverse = most / LARGEST, LARGEST / most
    # a maximum so small that its inverse overflows: the row is zero for all that a scale can express
    if inverse > np.float32(3.0e38):
        scale, inverse = np.float32(1.0), np.float32(0.0)
    factor, offset = splat(inverse), splat_int(OFFSET)
    for k in range(0, depth, 16):
        value = round_even(load(x, k) * factor)
        store_bytes(q, k, to_ints(value) + offset)
        if PLANES == 2:
            store_bytes(q, depth + k, to_ints(absolute(value)))
    return scale


@kernel
def quantize_rows(x: address, rows: count, depth: count, q: address, row_scales: address):
    """Quantize float32 [rows, depth] into bytes [rows, PLANES * depth] and float32 scales [rows]."""
    for row in range(rows):
        store_f32(row_scales, row, quantize_row(x + 4 * row * depth, depth, q + row * PLANES * depth))


def quantize_rows_reference(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """float32 [rows, depth] -> (int8 [rows, depth], float32 [rows]): the same bits as the kernel."""
    most = np.abs(x).max(axis=1).astype(np.float32)
    with np.errstate(divide="ignore", over="ignore"):
        inverse = np.where(most > 0, LARGEST / most, np.float32(1)).astype(np.float32)
    tiny = inverse > np.float32(3.0e38)
    inverse[tiny] = 0
    scales = np.where((most > 0) & ~tiny, most / LARGEST, np.float32(1)).astype(np.float32)
    return np.rint(x * inverse[:, None]).astype(np.int8), scales


def stored_bytes(q: np.ndarray) -> np.ndarray:
    """int8 [rows, depth] as the kernels store it: uint8 [rows, PLANES * depth]."""
    planes = [(q.astype(np.int16) + OFFSET).astype(np.uint8)]
    if PLANES == 2:
        planes.append(np.abs(q.astype(np.int16)).astype(np.uint8))
    return np.concatenate(planes, axis=1)
