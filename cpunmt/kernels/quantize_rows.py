"""Quantization of activations: one scale per row, made where the floats are still in the first cache.

    scale[r] = max_k |x[r, k]| / 127            1 for a row of zeros
    q[r, k]  = round(x[r, k] * (127 / max))     half to even, in [-127, 127]

Symmetric per-row scheme; a scale never depends on another row, so neither does a translation on its batch. With a
multiplier that was found beforehand for all rows, scale = 1, for the columns' scales have the rest (see
schemes.int8.static_scales), and what lies beyond it is clipped.
How q is stored in bytes is the instruction set's affair: `simd/tile` OFFSET and PLANES.
"""

import numpy as np

from cpunmt.jit import address, count, kernel, real
from cpunmt.simd.intrinsics import store_f32
from cpunmt.simd.tile import OFFSET, PLANES
from cpunmt.simd.vector import absolute, float_bits_of, largest, load, maximum, minimum, splat, store_bytes

LARGEST = np.float32(127.0)
# A float32 of this size has no bits for fractions: adding it rounds, halves to even, and leaves the integer in the
# low bits of the sum.
ROUNDING = np.float32(3 << 22)


@kernel
def quantize_row(x: address, depth: count, multiplier: real, q: address) -> real:
    """Quantize float32 [depth] (a multiple of 16) into bytes [PLANES * depth]; returns the scale.

    `multiplier` 0: the row's own.
    """
    if multiplier > np.float32(0.0):
        factor, shift = splat(multiplier), splat(ROUNDING + np.float32(OFFSET))
        for k in range(0, depth, 16):
            value = minimum(maximum(load(x, k) * factor, splat(-LARGEST)), splat(LARGEST))
            store_bytes(q, k, float_bits_of(value + shift))
            if PLANES == 2:
                store_bytes(q, depth + k, float_bits_of(absolute(value) + shift))
        return np.float32(1.0)
    # four chains: a maximum waits for the one before it
    peak = splat(np.float32(0.0))
    peak1, peak2, peak3 = peak, peak, peak
    whole = depth // 64 * 64
    for k in range(0, whole, 64):
        peak = maximum(peak, absolute(load(x, k)))
        peak1 = maximum(peak1, absolute(load(x, k + 16)))
        peak2 = maximum(peak2, absolute(load(x, k + 32)))
        peak3 = maximum(peak3, absolute(load(x, k + 48)))
    for k in range(whole, depth, 16):
        peak = maximum(peak, absolute(load(x, k)))
    most = largest(maximum(maximum(peak, peak1), maximum(peak2, peak3)))
    scale, inverse = np.float32(1.0), np.float32(1.0)
    if most > np.float32(0.0):
        scale, inverse = most / LARGEST, LARGEST / most
    # a maximum so small that its inverse overflows: the row is zero for all that a scale can express
    if inverse > np.float32(3.0e38):
        scale, inverse = np.float32(1.0), np.float32(0.0)
    factor, shift = splat(inverse), splat(ROUNDING + np.float32(OFFSET))
    for k in range(0, depth, 16):
        value = load(x, k) * factor
        store_bytes(q, k, float_bits_of(value + shift))
        if PLANES == 2:
            store_bytes(q, depth + k, float_bits_of(absolute(value) + shift))
    return scale


@kernel
def quantize_rows(x: address, rows: count, depth: count, multiplier: real, q: address, row_scales: address):
    """Quantize float32 [rows, depth] into bytes [rows, PLANES * depth] and float32 scales [rows]."""
    for row in range(rows):
        store_f32(row_scales, row, quantize_row(x + 4 * row * depth, depth, multiplier, q + row * PLANES * depth))


def quantize_rows_reference(x: np.ndarray, multiplier: float = 0) -> tuple[np.ndarray, np.ndarray]:
    """float32 [rows, depth] -> (int8 [rows, depth], float32 [rows]): the same bits as the kernel."""
    if multiplier > 0:
        multiplier = np.float32(multiplier)
        q = np.rint(np.clip(x * multiplier, -LARGEST, LARGEST)).astype(np.int8)
        return q, np.ones(len(x), np.float32)
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
