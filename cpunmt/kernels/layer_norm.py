"""Residual connection and layer normalization, then quantization of the result, a row at a time.

    x[r] = scale * (s - mean(s)) / sqrt(variance(s) + epsilon) + bias,    s = x[r] + y[r]

Ba, Kiros and Hinton 2016, https://arxiv.org/abs/1607.06450, with the biased variance of their equation 3.
"""

import numpy as np

from cpunmt.jit import address, count, kernel, real
from cpunmt.kernels.quantize_rows import quantize_row
from cpunmt.kernels.reading import norm_at
from cpunmt.simd.intrinsics import square_root, store_f32
from cpunmt.simd.tile import PLANES
from cpunmt.simd.vector import fma, load, splat, store, total


@kernel
def residual_layer_norm(
    x: address,
    y: address,
    norm: address,
    epsilon: real,
    rows: count,
    depth: count,
    q: address,
    row_scales: address,
):
    """Normalize x + y into x; quantize it too, unless `q` is 0.

    x, y          float32 [rows, depth], depth a multiple of 16; x is overwritten
    q             bytes [rows, PLANES * depth], or 0
    row_scales    float32 [rows]
    """
    weights = norm_at(norm, 0)
    for row in range(rows):
        target, added = x + 4 * row * depth, y + 4 * row * depth
        sums = splat(np.float32(0.0))
        for k in range(0, depth, 16):
            value = load(target, k) + load(added, k)
            store(target, k, value)
            sums = sums + value
        mean = splat(total(sums) / np.float32(depth))
        squares = splat(np.float32(0.0))
        for k in range(0, depth, 16):
            centred = load(target, k) - mean
            squares = fma(centred, centred, squares)
        variance = total(squares) / np.float32(depth)
        inverse = splat(np.float32(1.0) / square_root(variance + epsilon))
        for k in range(0, depth, 16):
            centred = (load(target, k) - mean) * inverse
            store(target, k, fma(centred, load(weights.scale, k), load(weights.bias, k)))
        if q != 0:
            store_f32(row_scales, row, quantize_row(target, depth, q + row * PLANES * depth))


def residual_layer_norm_reference(x, y, scale, bias, epsilon) -> np.ndarray:
    """float64 [rows, depth]."""
    s = x.astype(np.float64) + y.astype(np.float64)
    centred = s - s.mean(axis=1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + epsilon) * scale + bias
