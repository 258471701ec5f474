"""The terms of self-attention that depend on the distance of two pieces, and not on their positions.

    score[i, j] = q_i . (k_j + K[p]) / sqrt(head_dim) + B[p]        p = reach + clip(j - i, -reach, reach)
    context[i]  = sum_j softmax_j(score)[i, j] (v_j + V[p])

K and V are vectors of a layer, for all heads: Shaw et al. 2018, https://arxiv.org/abs/1803.02155, section 3. B has a
number for each head: Raffel et al. 2020, https://arxiv.org/abs/1910.10683, section 2.1; distances that share a bucket
have the same one. A model has either K and V or B.

q_i . K[p] is a product of queries and places, from which each key takes the place of its distance. Likewise the weights
of all keys at one place are added up first, in the order of the keys, and then multiplied by V.
"""

import numpy as np

from cpunmt.kernels.matmul.float_matmul import float_matmul, new_float_product
from cpunmt.kernels.records import RELATIVE, SCRATCH, SETTINGS
from cpunmt.simd.intrinsics import address_of, at, lesser, load_f32, store_f32
from cpunmt.simd.jit import address, count, inlined, kernel
from cpunmt.simd.vector import broadcast, load, store


@inlined
def _place(distance, reach):
    return reach + lesser(-lesser(-distance, reach), reach)


@inlined
def _clear(numbers, length):
    """Writes 0 to float32 [length], and up to the next multiple of 16."""
    for k in range(0, length, 16):
        store(numbers, k, broadcast(np.float32(0.0)))


@kernel
def add_to_columns(
    scores: address, length: count, terms: address, place_bytes: count, query_bytes: count, reach: count
):
    """Adds terms to the scores of queries, which are columns, with keys: float32 [length, 16 * panels].

    terms    float32, that of a place and a query at place * place_bytes + query * query_bytes
    """
    stride = (length + 15) // 16 * 16
    for key in range(length):
        row = scores + 4 * key * stride
        for query in range(length):
            term = load_f32(terms + _place(key - query, reach) * place_bytes + query * query_bytes, 0)
            store_f32(row, query, load_f32(row, query) + term)


@kernel
def sum_of_columns(weights: address, length: count, reach: count, sums: address):
    """Adds up the weights of the keys at each place: float32 [2 * reach + 1, 16 * panels] of [length, 16 * panels]."""
    stride = (length + 15) // 16 * 16
    _clear(sums, (2 * reach + 1) * stride)
    for key in range(length):
        row = weights + 4 * key * stride
        for query in range(length):
            place = sums + 4 * _place(key - query, reach) * stride
            store_f32(place, query, load_f32(place, query) + load_f32(row, query))


@kernel
def add_to_rows(scores: address, heads: count, length: count, terms: address, head_bytes: count, reach: count):
    """Adds terms to the scores of the last query with all keys: float32 [heads, 16 * panels].

    terms    float32 [heads, places], `head_bytes` apart; no key lies behind the query, so there are reach + 1 places
    """
    stride = (length + 15) // 16 * 16
    for head in range(heads):
        row, own = scores + 4 * head * stride, terms + head * head_bytes
        for key in range(length):
            term = load_f32(own, _place(key - (length - 1), reach))
            store_f32(row, key, load_f32(row, key) + term)


@kernel
def sum_of_rows(weights: address, heads: count, length: count, reach: count, sums: address):
    """Adds up the weights of the keys at each place: float32 [heads, reach + 1] of [heads, 16 * panels]."""
    stride = (length + 15) // 16 * 16
    _clear(sums, heads * (reach + 1))
    for head in range(heads):
        row, own = weights + 4 * head * stride, sums + 4 * head * (reach + 1)
        for key in range(length):
            place = _place(key - (length - 1), reach)
            store_f32(own, place, load_f32(own, place) + load_f32(row, key))


@kernel
def relate_columns(relative: address, settings: address, scratch: address, head: count, length: count):
    """Adds all terms to the scores of one head of a sentence, before their softmax.

    relative    a RELATIVE record
    scratch     `scores` and `packed` queries as in `self_attention`; `relative` is overwritten
    """
    r, s, w = at(RELATIVE, relative, 0), at(SETTINGS, settings, 0), at(SCRATCH, scratch, 0)
    places, panels, head_dim = 2 * r.reach + 1, (length + 15) // 16, s.attention_dim // s.heads
    if r.bias != 0:
        add_to_columns(w.scores, length, r.bias + 4 * head * places, 4, 0, r.reach)
    else:
        product = new_float_product()
        product.rows, product.depth, product.panels = places, head_dim, panels
        product.a_row_bytes, product.a_depth_bytes, product.out_row_bytes = 4 * head_dim, 4, 64 * panels
        product.w_panel_bytes, product.w_depth_bytes = 64 * head_dim, 64
        float_matmul(address_of(product), r.keys, w.packed, w.relative)
        add_to_columns(w.scores, length, w.relative, 64 * panels, 4, r.reach)


@kernel
def relate_contexts(relative: address, settings: address, scratch: address, length: count, out: address):
    """Adds the terms of places to the contexts of one head of a sentence, after the softmax of its scores.

    scratch    its `relative` and `y` are overwritten
    out        float32 [length, head_dim], rows attention_dim floats apart
    """
    r, s, w = at(RELATIVE, relative, 0), at(SETTINGS, settings, 0), at(SCRATCH, scratch, 0)
    if r.values != 0:
        panels, head_dim = (length + 15) // 16, s.attention_dim // s.heads
        sum_of_columns(w.scores, length, r.reach, w.relative)
        product = new_float_product()
        product.rows, product.depth, product.panels = length, 2 * r.reach + 1, head_dim // 16
        product.a_row_bytes, product.a_depth_bytes, product.out_row_bytes = 4, 64 * panels, 4 * head_dim
        product.w_panel_bytes, product.w_depth_bytes = 64, 4 * head_dim
        float_matmul(address_of(product), w.relative, r.values, w.y)
        for query in range(length):
            target, added = out + 4 * query * s.attention_dim, w.y + 4 * query * head_dim
            for k in range(0, head_dim, 16):
                store(target, k, load(target, k) + load(added, k))


@kernel
def relate_row(relative: address, settings: address, scratch: address, q: address, length: count):
    """Adds all terms to the scores of all heads of the last query, before their softmax.

    scratch    `scores` as in `cross_attention_row`; `relative` is overwritten
    q          float32 [attention_dim]
    """
    r, s, w = at(RELATIVE, relative, 0), at(SETTINGS, settings, 0), at(SCRATCH, scratch, 0)
    if r.bias != 0:
        add_to_rows(w.scores, s.heads, length, r.bias, 4 * (2 * r.reach + 1), r.reach)
    else:
        panels, head_dim = (r.reach + 16) // 16, s.attention_dim // s.heads
        product = new_float_product()
        product.rows, product.depth, product.panels = s.heads, head_dim, panels
        product.a_row_bytes, product.a_depth_bytes, product.out_row_bytes = 4 * head_dim, 4, 64 * panels
        product.w_panel_bytes, product.w_depth_bytes = 64 * head_dim, 64
        float_matmul(address_of(product), q, r.packed_keys, w.relative)
        add_to_rows(w.scores, s.heads, length, w.relative, 64 * panels, r.reach)


@kernel
def relate_context(relative: address, settings: address, scratch: address, length: count, out: address):
    """Adds the terms of places to the context of the last query, float32 [attention_dim], after the softmax.

    scratch    its `relative` and `y` are overwritten
    """
    r, s, w = at(RELATIVE, relative, 0), at(SETTINGS, settings, 0), at(SCRATCH, scratch, 0)
    if r.values != 0:
        head_dim = s.attention_dim // s.heads
        sum_of_rows(w.scores, s.heads, length, r.reach, w.relative)
        product = new_float_product()
        product.rows, product.depth, product.panels = s.heads, r.reach + 1, head_dim // 16
        product.a_row_bytes, product.a_depth_bytes, product.out_row_bytes = 4 * (r.reach + 1), 4, 4 * head_dim
        product.w_panel_bytes, product.w_depth_bytes = 64, 4 * head_dim
        float_matmul(address_of(product), w.relative, r.values, w.y)
        for k in range(0, s.attention_dim, 16):
            store(out, k, load(out, k) + load(w.y, k))
