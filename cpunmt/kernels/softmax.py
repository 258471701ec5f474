"""Softmax of attention, and the log-sum-exp of logits: the log-probability of candidate j is s[j] minus that of s.

softmax        p[j] = exp(s[j] - max s) / sum_i exp(s[i] - max s)
log-sum-exp    max s + log(sum_i exp(s[i] - max s))

The sum is taken in blocks of BLOCK scores with the maximum so far (Milakov and Gimelshein 2018,
https://arxiv.org/abs/1805.02867; algorithm 2 of paper A, docs/papers.md). That order is the definition, so that
scores computed block by block, without storing them, have the same bits (kernels/fused_top_k). Powers are of
two: with c the float32 next to log2(e), and m the maximum,

    log-sum-exp = m + ln(sum_i 2^(c s[i] - round(c m))) - (c m - round(c m)) ln(2)
"""

import numpy as np

from cpunmt.kernels.activations import LOG2_E, exp, exp2, log
from cpunmt.kernels.records import BLOCK, POWERS
from cpunmt.simd.intrinsics import address_of, at, lesser, load_f32, local_record, store_f32
from cpunmt.simd.jit import address, count, kernel, real
from cpunmt.simd.vector import broadcast, first_lane, first_lanes, fma, largest, load, maximum, store, total

LOWEST = np.float32(-3.0e38)  # a score that no candidate has
LN2 = 0.6931471805599453

new_powers = local_record(POWERS)


@kernel
def softmax_rows(scores: address, rows: count, stride: count, length: count, factor: real, sums: address):
    """Computes the softmax of `factor` times each row of float32 [rows, length], in place, rows `stride` floats apart.

    Places of a row up to the next multiple of 16 are overwritten. `sums` is room for float32 [rows]. Every pass
    goes over all rows, so the reduction of a row does not wait for those of other rows.
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
    """Computes the softmax of `factor` times each column of float32 [rows, 16 * panels] in place, sixteen at a time."""
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
def no_powers(powers: address):
    """Clears POWERS."""
    store(powers, 0, broadcast(np.float32(0.0)))
    at(POWERS, powers, 0).peak = LOWEST


@kernel
def add_powers(powers: address, scores: address, length: count) -> real:
    """Adds float32 scores [length], a multiple of 16, to POWERS; returns the largest score."""
    p = at(POWERS, powers, 0)
    peaks = load(scores, 0)
    for j in range(16, length, 16):
        peaks = maximum(peaks, load(scores, j))
    top, sums, factor = largest(peaks), load(powers, 0), broadcast(LOG2_E)
    if top > p.peak:
        sums = sums * exp2(broadcast(p.peak) * factor - broadcast(top) * factor)
        p.peak = top
    less = broadcast(np.float32(0.0)) - broadcast(p.peak) * factor
    for j in range(0, length, 16):
        sums = sums + exp2(fma(load(scores, j), factor, less))
    store(powers, 0, sums)
    return top


@kernel
def log_of_powers(powers: address) -> real:
    """Returns the log-sum-exp of all added scores. It is not below the largest of them."""
    peak = at(POWERS, powers, 0).peak
    factor = broadcast(LOG2_E)
    rounded = broadcast(peak) * factor
    rest = np.float64(first_lane(fma(broadcast(peak), factor, broadcast(np.float32(0.0)) - rounded)))
    found = np.float32(np.float64(peak) + (log(np.float64(total(load(powers, 0)))) - rest * LN2))
    return found if found > peak else peak


@kernel
def log_sum_exp(scores: address, length: count) -> real:
    """Returns log(sum_j exp(s[j])) of float32 [length], a multiple of 16; unused places hold LOWEST."""
    powers = address_of(new_powers())
    no_powers(powers)
    for first in range(0, length, BLOCK):
        add_powers(powers, scores + 4 * first, lesser(BLOCK, length - first))
    return log_of_powers(powers)
