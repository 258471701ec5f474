"""Cross-attention of the decoder over the encoded source.

Keys and values of the source are projected once per sentence, and once for all layers that share parameters;
a decoding step only computes its query. ("Precomputed attention": Devlin 2017, section 4.3.)
"""

import numpy as np

from cpunmt.architectures.records import ROW
from cpunmt.architectures.transformer.records import CROSS_ATTENTION, MEMORY, TRANSFORMER
from cpunmt.kernels.attention import cross_attention_row, pack_source
from cpunmt.kernels.matmul.int8_matmul import AFFINE
from cpunmt.kernels.records import SCRATCH, SETTINGS
from cpunmt.kernels.weighted_sums import add_weighted
from cpunmt.layers.attention import projected
from cpunmt.layers.linear import linear
from cpunmt.layers.residual import after_block, before_block
from cpunmt.simd.intrinsics import address_of, at, load_i64
from cpunmt.simd.jit import address, count, kernel


@kernel
def source_place(network: address, memory: address, slot: count, parameters: count) -> count:
    """Returns the places, in bytes, of a slot's keys for one parameter set in `keys` and of its values in `values`."""
    n, w = at(TRANSFORMER, network, 0), at(MEMORY, memory, 0)
    return 4 * (slot * n.decoder_sets + parameters) * n.settings.attention_dim * w.source_stride


@kernel
def project_source(
    layer: address, parameters: count, network: address, memory: address, offsets: address, slots: address, n: count
):
    """Projects `n` encoded sentences in x to keys and values, in int64 slots [n]. `offsets` as in
    `encoder_attention`."""
    weights, depth = at(CROSS_ATTENTION, layer, 0), at(TRANSFORMER, network, 0).settings.attention_dim
    m = at(MEMORY, memory, 0)
    settings, scratch = address_of(at(TRANSFORMER, network, 0).settings), address_of(m.scratch)
    w = at(SCRATCH, scratch, 0)
    start = load_i64(offsets, 0)
    rows = load_i64(offsets, n) - start
    linear(address_of(weights.key_value), w.x, w.quantized, w.row_scales, rows, w.wide, AFFINE, w.room)
    for sentence in range(n):
        slot = load_i64(slots, sentence)
        first = load_i64(offsets, sentence) - start
        length = load_i64(offsets, sentence + 1) - start - first
        place = source_place(network, memory, slot, parameters)
        pack_source(settings, scratch, w.wide + 8 * first * depth, length, m.keys + place, m.values + place)


@kernel
def slots_ahead(rows: address, n: count, i: count) -> count:
    """Returns the distance from the slot of row `i` of ROW records [n] to that of the next sentence."""
    slot = at(ROW, rows, i).slot
    for following in range(i + 1, n):
        if at(ROW, rows, following).slot != slot:
            return at(ROW, rows, following).slot - slot
    return 0


@kernel
def cross_attention(
    layer: address, number: count, parameters: count, network: address, memory: address, rows: address, n: count
):
    """Runs the block of a CROSS_ATTENTION record on x, for ROW records [n], in decoder layer `number`."""
    weights, t = at(CROSS_ATTENTION, layer, 0), at(TRANSFORMER, network, 0)
    m = at(MEMORY, memory, 0)
    settings, scratch = address_of(t.settings), address_of(m.scratch)
    s, w = at(SETTINGS, settings, 0), at(SCRATCH, scratch, 0)
    before_block(address_of(weights.residual), settings, scratch, n)
    linear(address_of(weights.query), w.input, w.quantized, w.row_scales, n, w.y, AFFINE, w.room)
    first = source_place(network, memory, 0, parameters)
    for i in range(n):
        row = at(ROW, rows, i)
        place, offset = source_place(network, memory, row.slot, parameters), 4 * i * s.attention_dim
        ahead = source_place(network, memory, slots_ahead(rows, n, i), parameters) - first
        keys, values, context = m.keys + place, m.values + place, w.context + offset
        cross_attention_row(settings, scratch, w.y + offset, keys, values, row.source_length, context, ahead)
        if row.alignment != 0 and number == t.alignment_layer:
            stride = (row.source_length + 15) // 16 * 16
            share = np.float32(1.0 / t.alignment_heads)
            for head in range(t.alignment_heads):
                add_weighted(w.scores + 4 * stride * head, stride, share, head, row.alignment)
    projected(address_of(weights.output), settings, scratch, n)
    after_block(address_of(weights.residual), settings, scratch, n)
