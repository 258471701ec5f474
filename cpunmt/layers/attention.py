"""Attention layers: the encoder's self-attention, and the projection after the heads of any attention."""

from cpunmt.kernels.attention import self_attention
from cpunmt.kernels.copying import copy_floats
from cpunmt.kernels.matmul.int8_matmul import AFFINE
from cpunmt.kernels.records import LINEAR, SCRATCH, SETTINGS
from cpunmt.layers.linear import linear, linear_of
from cpunmt.layers.records import SELF_ATTENTION
from cpunmt.layers.residual import after_block, before_block
from cpunmt.simd.intrinsics import address_of, at, load_i64
from cpunmt.simd.jit import address, count, kernel


@kernel
def projected(weights: address, settings: address, scratch: address, rows: count):
    """Computes y = context W + b, the projection after the heads of attention, or y = context without a projection."""
    w = at(SCRATCH, scratch, 0)
    if at(LINEAR, weights, 0).panels == 0:
        copy_floats(w.context, rows * at(SETTINGS, settings, 0).attention_dim, w.y)
    else:
        linear_of(weights, w.context, rows, scratch, w.y, AFFINE)


@kernel
def encoder_attention(layer: address, settings: address, scratch: address, offsets: address, sentences: count):
    """Runs the block of a SELF_ATTENTION record for `sentences` sentences, one after another in x.

    offsets    int64 [sentences + 1]: the beginning of each, relative to the first
    """
    weights, s, w = at(SELF_ATTENTION, layer, 0), at(SETTINGS, settings, 0), at(SCRATCH, scratch, 0)
    start = load_i64(offsets, 0)
    rows = load_i64(offsets, sentences) - start
    before_block(address_of(weights.residual), settings, scratch, rows)
    linear(address_of(weights.query_key_value), w.input, w.quantized, w.row_scales, rows, w.wide, AFFINE, w.room)
    for sentence in range(sentences):
        first = load_i64(offsets, sentence) - start
        length = load_i64(offsets, sentence + 1) - start - first
        context, qkv = w.context + 4 * first * s.attention_dim, w.wide + 12 * first * s.attention_dim
        self_attention(settings, scratch, weights.relative, qkv, length, context)
    projected(address_of(weights.output), settings, scratch, rows)
    after_block(address_of(weights.residual), settings, scratch, rows)
