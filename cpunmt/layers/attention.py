"""Attention layers: of the encoder over its own sentence, of the decoder over the encoded source.

Keys and values of the source are projected once per sentence, and once for all layers that share parameters;
a decoding step only makes its query. ("Precomputed attention": Devlin 2017, section 3.2.)
"""

from cpunmt.kernels.attention import cross_attention_row, pack_rows, self_attention
from cpunmt.kernels.copying import copy_floats
from cpunmt.kernels.matmul.int8_matmul import AFFINE
from cpunmt.kernels.reading import (
    cross_attention_at,
    hypothesis_at,
    linear_at,
    model_at,
    self_attention_at,
    slot_at,
    workspace_at,
)
from cpunmt.layers.linear import linear, quantize
from cpunmt.layers.residual import after_block, before_block
from cpunmt.simd.intrinsics import address_of, load_i64
from cpunmt.simd.jit import address, count, kernel


@kernel
def projected(weights: address, model: address, workspace: address, rows: count):
    """y = context W + b: what follows the heads of attention; y = context where the model has no such layer."""
    m, w = model_at(model, 0), workspace_at(workspace, 0)
    if linear_at(weights, 0).panels == 0:
        copy_floats(w.context, rows * m.model_dim, w.y)
    else:
        quantize(weights, w.context, rows, w.quantized, w.row_scales)
        linear(weights, w.context, w.quantized, w.row_scales, rows, w.y, AFFINE)


@kernel
def encoder_attention(layer: address, model: address, workspace: address, offsets: address, sentences: count):
    """The block of a SELF_ATTENTION record for `sentences` sentences, one after another in the workspace's x.

    offsets    int64 [sentences + 1]: where each begins, relative to the first
    """
    weights, m, w = self_attention_at(layer, 0), model_at(model, 0), workspace_at(workspace, 0)
    start = load_i64(offsets, 0)
    rows = load_i64(offsets, sentences) - start
    before_block(address_of(weights.residual), model, workspace, rows)
    linear(address_of(weights.query_key_value), w.input, w.quantized, w.row_scales, rows, w.wide, AFFINE)
    for sentence in range(sentences):
        first = load_i64(offsets, sentence) - start
        length = load_i64(offsets, sentence + 1) - start - first
        context = w.context + 4 * first * m.model_dim
        self_attention(model, workspace, w.wide + 12 * first * m.model_dim, length, context)
    projected(address_of(weights.output), model, workspace, rows)
    after_block(address_of(weights.residual), model, workspace, rows)


@kernel
def keys_address(model: address, workspace: address, slot: count, parameters: count) -> count:
    """Of float32 [source_stride / 16, model_dim, 16]: a slot's keys for one parameter set, packed."""
    m, w = model_at(model, 0), workspace_at(workspace, 0)
    return w.keys + 4 * (slot * m.decoder_sets + parameters) * m.model_dim * w.source_stride


@kernel
def values_address(model: address, workspace: address, slot: count, parameters: count) -> count:
    """Of float32 [source_stride, model_dim]: a slot's values for one parameter set."""
    m, w = model_at(model, 0), workspace_at(workspace, 0)
    return w.values + 4 * (slot * m.decoder_sets + parameters) * m.model_dim * w.source_stride


@kernel
def project_source(
    layer: address, parameters: count, model: address, workspace: address, offsets: address, sentences: count
):
    """Keys and values of `sentences` encoded sentences in x, into the slots on top of the stack of free slots.

    The topmost free slot is that of the first sentence. `offsets` as in `encoder_attention`.
    """
    weights, m, w = cross_attention_at(layer, 0), model_at(model, 0), workspace_at(workspace, 0)
    start = load_i64(offsets, 0)
    rows = load_i64(offsets, sentences) - start
    linear(address_of(weights.key_value), w.x, w.quantized, w.row_scales, rows, w.wide, AFFINE)
    for sentence in range(sentences):
        slot = load_i64(w.free_slots, w.free_count - 1 - sentence)
        first = load_i64(offsets, sentence) - start
        length = load_i64(offsets, sentence + 1) - start - first
        projected = w.wide + 8 * first * m.model_dim
        keys = keys_address(model, workspace, slot, parameters)
        values = values_address(model, workspace, slot, parameters)
        pack_rows(projected, 8 * m.model_dim, length, m.model_dim, w.pointers, keys)
        for j in range(length):
            copy_floats(projected + 4 * m.model_dim * (2 * j + 1), m.model_dim, values + 4 * m.model_dim * j)


@kernel
def cross_attention(layer: address, number: count, parameters: count, model: address, workspace: address, rows: count):
    """The block of a CROSS_ATTENTION record on each row of the workspace's x, in decoder layer `number`."""
    weights, m, w = cross_attention_at(layer, 0), model_at(model, 0), workspace_at(workspace, 0)
    before_block(address_of(weights.residual), model, workspace, rows)
    linear(address_of(weights.query), w.input, w.quantized, w.row_scales, rows, w.y, AFFINE)
    aligning = w.attention != 0 and number == m.alignment_layer
    for row in range(rows):
        h = hypothesis_at(w.hypotheses, row)
        slot = h.slot
        length = slot_at(w.sentences, slot).source_length
        keys = keys_address(model, workspace, slot, parameters)
        values = values_address(model, workspace, slot, parameters)
        offset = 4 * row * m.model_dim
        cross_attention_row(model, workspace, w.y + offset, keys, values, length, w.context + offset)
        if aligning:
            place = (slot * w.steps + h.step) * w.beam + h.item
            copy_floats(w.scores, length, w.attention + 4 * w.source_stride * place)
    projected(address_of(weights.output), model, workspace, rows)
    after_block(address_of(weights.residual), model, workspace, rows)
