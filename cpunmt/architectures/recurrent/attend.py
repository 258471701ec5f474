"""Additive attention of queries over the words of their sentences."""

import numpy as np

from cpunmt.architectures.records import ROW
from cpunmt.architectures.recurrent.maps import mapped, normed
from cpunmt.architectures.recurrent.records import MEMORY, RECURRENT
from cpunmt.architectures.recurrent.source import values_width
from cpunmt.kernels.additive_attention import additive_scores, double_exponentials
from cpunmt.kernels.copying import copy_floats
from cpunmt.kernels.matmul.float_matmul import float_matmul, new_float_product
from cpunmt.kernels.records import SCRATCH
from cpunmt.kernels.softmax import softmax_rows
from cpunmt.simd.intrinsics import address_of, at, load_i64
from cpunmt.simd.jit import address, count, kernel


@kernel
def attend(network: address, memory: address, rows: address, askers: address, n: count):
    """Writes the contexts of `n` queries, the first columns of `asked`, to `contexts`.

    askers    int64 [n]: the ROW record of each query; those of a sentence are neighbours
    """
    net, w = at(RECURRENT, network, 0), at(MEMORY, memory, 0)
    settings, scratch, depth = address_of(net.settings), address_of(w.scratch), net.attention_dim
    width, stride, columns = values_width(network), w.source_stride, net.query.columns
    first = 0
    while first < n:
        row = at(ROW, rows, load_i64(askers, first))
        slot, length, end = row.slot, row.source_length, first
        keys = w.keys + 4 * slot * stride * depth
        weights = w.attended + 4 * first * stride
        while end < n and at(ROW, rows, load_i64(askers, end)).slot == slot:
            query = w.asked + 4 * end * columns
            double_exponentials(query, depth)
            additive_scores(keys, query, net.weight, length, depth, w.attended + 4 * end * stride)
            end += 1
        softmax_rows(weights, end - first, stride, length, np.float32(1.0), at(SCRATCH, scratch, 0).sums)
        product = new_float_product()
        product.rows, product.depth, product.panels = end - first, length, width // 16
        product.a_row_bytes, product.a_depth_bytes, product.out_row_bytes = 4 * stride, 4, 4 * width
        product.w_panel_bytes, product.w_depth_bytes = 64, 4 * width
        values = w.values + 4 * slot * stride * w.value_width
        float_matmul(address_of(product), weights, values, w.summed + 4 * first * width)
        first = end
    if net.projected:
        w.contexts = w.summed
        normed(address_of(net.context), settings, n, w.contexts)
    else:
        w.contexts = w.made
        mapped(address_of(net.context), settings, w.summed, n, scratch, w.contexts)


@kernel
def tell_alignments(memory: address, rows: address, n: count, shared: address):
    """Writes the attention of each of ROW [n], if wanted. `shared` int64 [n]: its query; 0: its own number."""
    w = at(MEMORY, memory, 0)
    for i in range(n):
        row = at(ROW, rows, i)
        if row.alignment != 0:
            query = load_i64(shared, i) if shared != 0 else i
            copy_floats(w.attended + 4 * query * w.source_stride, row.source_length, row.alignment)
