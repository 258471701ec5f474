"""An encoded sentence: the vectors that attention compares and adds up, and the first state of its translations."""

import numpy as np

from cpunmt.architectures.recurrent.maps import mapped
from cpunmt.architectures.recurrent.records import CELL, LAYER, MEMORY, RECURRENT
from cpunmt.kernels.additive_attention import double_exponentials
from cpunmt.kernels.copying import copy_floats
from cpunmt.kernels.gates import squash
from cpunmt.kernels.matmul.int8_matmul import AFFINE
from cpunmt.layers.linear import linear_of
from cpunmt.simd.intrinsics import address_of, at, load_i64
from cpunmt.simd.jit import address, count, kernel
from cpunmt.simd.vector import broadcast, load, store


@kernel
def values_width(network: address) -> count:
    """Returns the width of the vectors that attention adds up: encoded words, or their projections."""
    net = at(RECURRENT, network, 0)
    return net.context.columns if net.projected else net.context_dim


@kernel
def mean_rows(x: address, rows: count, depth: count, out: address):
    """Writes the mean of float32 x [rows, depth], added up in order, to float32 [depth], a multiple of 16."""
    share = broadcast(np.float32(1.0) / np.float32(rows))
    for k in range(0, depth, 16):
        sums = broadcast(np.float32(0.0))
        for i in range(rows):
            sums = sums + load(x + 4 * i * depth, k)
        store(out, k, sums * share)


@kernel
def keep_source(network: address, memory: address, encoded: address, offsets: address, slots: address, n: count):
    """Stores the decoder's inputs for `n` sentences, float32 `encoded` [words, context_dim], in int64 slots [n]."""
    net, w = at(RECURRENT, network, 0), at(MEMORY, memory, 0)
    settings, scratch, start = address_of(net.settings), address_of(w.scratch), load_i64(offsets, 0)
    context, keys, width, live = net.context_dim, net.attention_dim, values_width(network), w.slots * w.beam
    rows = load_i64(offsets, n) - start
    mapped(address_of(net.key), settings, encoded, rows, scratch, w.wide)
    double_exponentials(w.wide, rows * keys)
    for i in range(n):
        slot, first = load_i64(slots, i), load_i64(offsets, i) - start
        length = load_i64(offsets, i + 1) - start - first
        copy_floats(w.wide + 4 * first * keys, length * keys, w.keys + 4 * slot * w.source_stride * keys)
        mean_rows(encoded + 4 * first * context, length, context, w.gathered + 4 * i * context)
    values = encoded
    if net.projected:  # norms are of sums
        values = w.wide
        linear_of(address_of(net.context.linear), encoded, rows, scratch, values, AFFINE)
    for i in range(n):
        slot, first = load_i64(slots, i), load_i64(offsets, i) - start
        length = load_i64(offsets, i + 1) - start - first
        kept = w.values + 4 * slot * w.source_stride * w.value_width
        copy_floats(values + 4 * first * width, length * width, kept)
    begun = w.wide
    mapped(address_of(net.start), settings, w.gathered, n, scratch, begun)
    squash(begun, n * net.decoder_dim, net.settings.sigmoid_table)
    kind, dim = at(CELL, at(LAYER, net.decoder, 0).cell, 0).kind, net.decoder_dim
    for i in range(n):
        place = (live + load_i64(slots, i)) * w.state_bytes
        for layer in range(net.decoder_layers):
            state = w.states + layer * (live + w.slots) * w.state_bytes + place
            for half in range(1 + kind):  # an LSTM begins with it twice
                copy_floats(begun + 4 * i * dim, dim, state + 4 * half * dim)
