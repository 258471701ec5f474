"""Residual connection and layer normalization, then quantization of the result, a row at a time.

    out[r] = scale * (s - mean(s)) / sqrt(variance(s) + epsilon) + bias,    s = x[r] + y[r], or x[r] alone

Ba, Kiros and Hinton 2016, https://arxiv.org/abs/1607.06450, with the biased variance of their equation 3. RMS norms
take 0 for the mean: Zhang and Sennrich 2019, https://arxiv.org/abs/1910.07467.
"""

import numpy as np

from cpunmt.kernels.matmul.quantize_rows import quantize_as
from cpunmt.kernels.records import NORM, SETTINGS
from cpunmt.simd.intrinsics import at, square_root
from cpunmt.simd.jit import address, count, inlined, kernel, real
from cpunmt.simd.vector import broadcast, fma, load, store, total

# Sums run in four chains, each of every fourth vector: an addition waits for the one before it.


@inlined
def _add_rows(x, y, share, out, depth):
    """Computes out = x + share * y, float32 [depth] each; returns its sum. `share` is 0 or 1: the product is exact."""
    zero = broadcast(np.float32(0.0))
    s0, s1, s2, s3 = zero, zero, zero, zero
    whole = depth // 64 * 64
    for k in range(0, whole, 64):
        v0, v1 = fma(load(y, k), share, load(x, k)), fma(load(y, k + 16), share, load(x, k + 16))
        v2, v3 = fma(load(y, k + 32), share, load(x, k + 32)), fma(load(y, k + 48), share, load(x, k + 48))
        store(out, k, v0)
        store(out, k + 16, v1)
        store(out, k + 32, v2)
        store(out, k + 48, v3)
        s0, s1, s2, s3 = s0 + v0, s1 + v1, s2 + v2, s3 + v3
    for k in range(whole, depth, 16):
        v0 = fma(load(y, k), share, load(x, k))
        store(out, k, v0)
        s0 = s0 + v0
    return total((s0 + s1) + (s2 + s3))


@inlined
def _squares(x, mean, depth):
    """Returns the sum of (x - mean) ** 2 over float32 [depth]."""
    zero = broadcast(np.float32(0.0))
    s0, s1, s2, s3 = zero, zero, zero, zero
    whole = depth // 64 * 64
    for k in range(0, whole, 64):
        v0, v1, v2, v3 = load(x, k) - mean, load(x, k + 16) - mean, load(x, k + 32) - mean, load(x, k + 48) - mean
        s0, s1, s2, s3 = fma(v0, v0, s0), fma(v1, v1, s1), fma(v2, v2, s2), fma(v3, v3, s3)
    for k in range(whole, depth, 16):
        v0 = load(x, k) - mean
        s0 = fma(v0, v0, s0)
    return total((s0 + s1) + (s2 + s3))


@kernel
def residual_layer_norm(
    settings: address, norm: address, x: address, y: address, rows: count, out: address, q: address, row_scales: address
):
    """Normalizes x + y into `out`; also quantizes it for the norm's reader, unless `q` is 0.

    x, y, out     float32 [rows, model_dim]; y may be 0, absent; out may be x
    q             bytes [rows, PLANES * model_dim] or int16 [rows, model_dim], or 0
    row_scales    float32 [rows, 2]: scale and shift
    """
    s = at(SETTINGS, settings, 0)
    depth, epsilon = s.model_dim, s.epsilon
    weights = at(NORM, norm, 0)
    share = broadcast(np.float32(0.0) if y == 0 else np.float32(1.0))
    for row in range(rows):
        given, target = x + 4 * row * depth, out + 4 * row * depth
        added = given if y == 0 else y + 4 * row * depth
        sum_ = _add_rows(given, added, share, target, depth)
        mean = broadcast(np.float32(0.0) if s.root_mean_square else sum_ / np.float32(depth))
        variance = _squares(target, mean, depth) / np.float32(depth)
        inverse = broadcast(np.float32(1.0) / square_root(variance + epsilon))
        for k in range(0, depth, 16):
            centred = (load(target, k) - mean) * inverse
            store(target, k, fma(centred, load(weights.scale, k), load(weights.bias, k)))
    # not row by row: a row's steps wait for one another, and with more steps fewer rows are in flight at once
    if q != 0:
        quantize_as(weights.scheme, weights.multiplier, out, rows, depth, q, row_scales)


@kernel
def layer_norm_columns(
    x: address, rows: count, stride: count, depth: count, scale: address, bias: address, epsilon: real
):
    """Normalizes the first `depth` columns of float32 rows, `stride` floats apart, in place; depth a multiple of 16."""
    for row in range(rows):
        target = x + 4 * row * stride
        mean = broadcast(_add_rows(target, target, broadcast(np.float32(0.0)), target, depth) / np.float32(depth))
        inverse = broadcast(np.float32(1.0) / square_root(_squares(target, mean, depth) / np.float32(depth) + epsilon))
        for k in range(0, depth, 16):
            store(target, k, fma((load(target, k) - mean) * inverse, load(scale, k), load(bias, k)))
