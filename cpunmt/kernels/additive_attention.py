"""Additive attention: how well each word of a sentence answers one query.

    e[j] = sum_k score[k] tanh(key[j, k] + query[k])

Bahdanau et al. 2015, https://arxiv.org/abs/1409.0473, appendix A.1.2. A tanh is a quotient of exponentials,

    tanh(a + b) = 1 - 2 / (1 + exp(2 a) exp(2 b))

so keys become exponentials once per sentence and queries once per step. Each pair then takes one fma and a share of a
division, since four quotients are added up over one denominator. The term that does not depend on j, sum_k score[k], is
left out, because a softmax follows. So the scores here are, up to that constant,

    e[j] = sum_k weight[k] / (1 + keys[j, k] * query[k]),    weight = -2 score

An exponential beyond MOST has the same effect as MOST: 1 / MOST is below half a unit of 1.
"""

import numpy as np

from cpunmt.kernels.activations import exp
from cpunmt.simd.intrinsics import store_f32
from cpunmt.simd.jit import address, count, inlined, kernel
from cpunmt.simd.vector import broadcast, fma, load, minimum, store, total

MOST = np.float32(1e9)  # the product of four of them is a float32
ONE, TWO = np.float32(1.0), np.float32(2.0)


@kernel
def double_exponentials(x: address, length: count):
    """Computes x = exp(2 x) in place, float32 [length], a multiple of 16; 2 x outside [-87, 88] is moved to an end."""
    for k in range(0, length, 16):
        store(x, k, exp(load(x, k) * broadcast(TWO)))


@inlined
def _denominator(keys, query, k):
    """Returns 1 + keys * query for sixteen places from k on."""
    return broadcast(ONE) + minimum(load(keys, k) * load(query, k), broadcast(MOST))


@kernel
def additive_scores(keys: address, query: address, weight: address, length: count, depth: count, out: address):
    """Scores one query against the keys of one sentence.

    keys      float32 [length, depth], exponentials as above; depth a multiple of 16
    query     float32 [depth], the same
    weight    float32 [depth]: -2 score
    out       float32 [length]
    """
    whole = depth // 64 * 64
    for j in range(length):
        row = keys + 4 * j * depth
        sums = broadcast(np.float32(0.0))
        for k in range(0, whole, 64):
            d0, d1 = _denominator(row, query, k), _denominator(row, query, k + 16)
            d2, d3 = _denominator(row, query, k + 32), _denominator(row, query, k + 48)
            upper = fma(load(weight, k), d1, load(weight, k + 16) * d0)
            lower = fma(load(weight, k + 32), d3, load(weight, k + 48) * d2)
            left, right = d0 * d1, d2 * d3
            sums = sums + fma(upper, right, lower * left) / (left * right)
        for k in range(whole, depth, 16):
            sums = sums + load(weight, k) / _denominator(row, query, k)
        store_f32(out, j, total(sums))
