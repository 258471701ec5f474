"""Softmax of attention, and the log-sum-exp of logits: the log-probability of candidate j is s[j] minus that of s.

softmax        p[j] = exp(s[j] - max s) / sum_i exp(s[i] - max s)
log-sum-exp    max s + log(sum_i exp(s[i] - max s))
"""

import numpy as np

from cpunmt.kernels.activations import exp, log
from cpunmt.simd.intrinsics import load_f32, store_f32
from cpunmt.simd.jit import address, count, kernel, real
from cpunmt.simd.vector import broadcast, first_lanes, largest, load, maximum, store, total

LOWEST = np.float32(-3.0e38)  # a score that no candidate has


@kernel
def softmax_rows(scores: address, rows: count, stride: count, length: count, factor: real, sums: address):
    """Softmax of `factor` times each row of float32 [rows, length], in place, rows `stride` floats apart.

    Places of a row up to the next multiple of 16 are overwritten. `sums` is room for float32 [rows]. Every pass
    goes over all rows: the rows' reductions have nothing to wait for but their own.
    """
    padded = (length + 15) // 16 * 16
    last = padded - 16
    for row in range(rows):
        first = scores + 4 * row * stride
        end = first_lanes(load(first, last), length - last, broadcast(LOWEST))
        store(first, last, end)
        for j in range(0, last, 16):
            end = maximum(end, load(first, j))
        store_f32(sums, row, largest(end))
    scale = broadcast(factor)
    for row in range(rows):
        first = scores + 4 * row * stride
        most = broadcast(load_f32(sums, row))
        powers = broadcast(np.float32(0.0))
        for j in range(0, padded, 16):
            power = exp((load(first, j) - most) * scale)
            store(first, j, power)
            powers = powers + power
        store_f32(sums, row, total(powers))
    for row in range(rows):
        first = scores + 4 * row * stride
        inverse = broadcast(np.float32(1.0) / load_f32(sums, row))
        for j in range(0, padded, 16):
            store(first, j, load(first, j) * inverse)


@kernel
def softmax_columns(scores: address, rows: count, panels: count, factor: real):
    """Softmax of `factor` times each column of float32 [rows, 16 * panels], in place: sixteen columns at a time."""
    stride = 16 * panels
    scale = broadcast(factor)
    for panel in range(panels):
        first = scores + 64 * panel
        peak = load(first, 0)
        for row in range(1, rows):
            peak = maximum(peak, load(first, row * stride))
        powers = broadcast(np.float32(0.0))
        for row in range(rows):
            power = exp((load(first, row * stride) - peak) * scale)
            store(first, row * stride, power)
            powers = powers + power
        inverse = broadcast(np.float32(1.0)) / powers
        for row in range(rows):
            store(first, row * stride, load(first, row * stride) * inverse)


@kernel
def log_sum_exp(scores: address, length: count) -> real:
    """log(sum_j exp(s[j])) of float32 [length], a multiple of 16; unused places hold LOWEST."""
    peak = broadcast(LOWEST)
    for j in range(0, length, 16):
        peak = maximum(peak, load(scores, j))
    top = largest(peak)
    most = broadcast(top)
    sums = broadcast(np.float32(0.0))
    for j in range(0, length, 16):
        sums = sums + exp(load(scores, j) - most)
    return np.float32(np.float64(top) + log(np.float64(total(sums))))
