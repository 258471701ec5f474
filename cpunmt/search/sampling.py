"""Random pieces instead of the best ones: `num_hypotheses` translations, each drawn by itself.

A piece with log-probability l is drawn with a probability that is proportional to e^(l / temperature), among

    sampling_topk    this number of the most probable, 0: all
    sampling_topp    the fewest of these with this share of their probability; 1: all (Holtzman et al. 2020,
                     https://arxiv.org/abs/1904.09751)

and any pieces as probable as the least of these. Forbidden pieces are never drawn.

The random numbers are a function of the seed, the source's pieces, the number of the translation and its step:
Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"). So a draw does not depend on other
sentences, their order, threads or instruction sets. Sums are taken in one order, and thresholds are found by halving an
interval of bits, with sums that never grow when their threshold does.
"""

import numpy as np

from cpunmt.architectures.records import ROW
from cpunmt.kernels.activations import exp
from cpunmt.kernels.softmax import LOWEST
from cpunmt.search.records import BATCH, HYPOTHESIS, SLOT, WORKSPACE
from cpunmt.search.settings import SEARCH
from cpunmt.simd.intrinsics import at, load_f32, load_i32, store_f32, store_i64
from cpunmt.simd.jit import address, count, kernel, real
from cpunmt.simd.vector import (
    bits_to_floats,
    broadcast,
    broadcast_int,
    first_lane,
    largest,
    load,
    maximum,
    store,
    total,
    where_above,
)

WORD = 0xFFFFFFFF
ONE_BITS = 0x3F800000  # of the float32 1.0, the largest weight
FNV_PRIME = 0x100000001B3
FNV_BASIS = 0xCBF29CE484222325 - (1 << 64)


@kernel
def sentence_key(ids: address, length: count) -> count:
    """Hashes int32 ids [length] to 64 bits: FNV-1a of 32-bit words."""
    key = FNV_BASIS
    for i in range(length):
        key = (key ^ load_i32(ids, i)) * FNV_PRIME
    return key


@kernel
def random_word(seed: count, key: count, number: count, step: count) -> count:
    """Returns 32 random bits: the first word of Philox4x32-10, with key `seed` and counter (step, number, key)."""
    c0, c1, c2, c3 = step & WORD, number & WORD, key & WORD, (key >> 32) & WORD
    k0, k1 = seed & WORD, (seed >> 32) & WORD
    for _ in range(10):
        first, second = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c2 = ((second >> 32) & WORD) ^ c1 ^ k0, ((first >> 32) & WORD) ^ c3 ^ k1
        c1, c3 = second & WORD, first & WORD
        k0, k1 = (k0 + 0x9E3779B9) & WORD, (k1 + 0xBB67AE85) & WORD
    return c0


@kernel
def sum_above(weights: address, columns: count, bits: count, counted: count) -> real:
    """Adds up the float32 weights [columns] above the float32 of these bits; `counted`: returns their number
    instead."""
    least, one, sums = bits_to_floats(broadcast_int(bits)), broadcast(np.float32(1.0)), broadcast(np.float32(0.0))
    if counted:
        for j in range(0, columns, 16):
            sums = sums + where_above(load(weights, j), least, one)
    else:
        for j in range(0, columns, 16):
            sums = sums + where_above(load(weights, j), least, load(weights, j))
    return total(sums)


@kernel
def highest_bits(weights: address, columns: count, low: count, wanted: real, counted: count) -> count:
    """Returns the highest bits of a float32, at least `low`, above which `sum_above` is `wanted` or more; else
    `low`."""
    high = ONE_BITS
    while high - low > 1:
        middle = (low + high) // 2
        if sum_above(weights, columns, middle, counted) >= wanted:
            low = middle
        else:
            high = middle
    return low


@kernel
def weigh_pieces(search: address, logits: address, columns: count, weights: address) -> count:
    """Writes a weight proportional to the probability of each piece; returns the bits that the drawn weights exceed.

    logits, weights    float32 [columns]
    """
    q = at(SEARCH, search, 0)
    lowest, inverse = broadcast(LOWEST), broadcast(q.inverse_temperature)
    peak = lowest
    for j in range(0, columns, 16):
        peak = maximum(peak, load(logits, j))
    most = broadcast(largest(peak))
    for j in range(0, columns, 16):
        logit = load(logits, j)
        store(weights, j, where_above(logit, lowest, exp((logit - most) * inverse)))
    bits = 0
    if q.sampling_topk > 0:
        bits = highest_bits(weights, columns, bits, np.float32(q.sampling_topk), 1)
    if q.sampling_topp < 1:
        share = q.sampling_topp * sum_above(weights, columns, bits, 0)
        bits = highest_bits(weights, columns, bits, share, 0)
    return bits


@kernel
def column_at(weights: address, columns: count, bits: count, word: count) -> count:
    """Returns the column for 32 random bits, of float32 weights [columns] above `bits`; -1: none."""
    least = bits_to_floats(broadcast_int(bits))
    whole = 0.0
    for j in range(0, columns, 16):
        whole += np.float64(total(where_above(load(weights, j), least, load(weights, j))))
    place, reached, found = whole * (np.float64(word) / 4294967296.0), 0.0, -1
    for j in range(0, columns, 16):
        weight = load(weights, j)
        following = reached + np.float64(total(where_above(weight, least, weight)))
        if following > place:
            for column in range(j, j + 16):
                if load_f32(weights, column) > first_lane(least):
                    reached += np.float64(load_f32(weights, column))
                    found = column  # the last of the sixteen, if rounding leaves no sum beyond the place
                    if reached > place:
                        break
            break
        reached = following
    return found


@kernel
def draw(batch: address, workspace: address, row: count, logits: address, columns: count, wanted: count) -> count:
    """Draws `wanted` continuations of a hypothesis into the results of `top_k`; returns 0 if none may be drawn."""
    b, w = at(BATCH, batch, 0), at(WORKSPACE, workspace, 0)
    h, r, q = at(HYPOTHESIS, w.hypotheses, row), at(ROW, w.rows, row), at(SEARCH, b.search, 0)
    key, first = at(SLOT, w.sentences, r.slot).key, h.number if h.number >= 0 else 0
    bits = weigh_pieces(b.search, logits, columns, w.weights)
    for i in range(wanted):
        column = column_at(w.weights, columns, bits, random_word(q.seed, key, first + i, r.step))
        if column < 0:
            return 0
        store_i64(w.best_columns, row * w.beam + i, column)
        store_f32(w.best_logits, row * w.beam + i, load_f32(logits, column))
    return wanted
