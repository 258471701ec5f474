"""The encoder: all pieces of a few sentences at once, ragged, into the slots of the decoder."""

from cpunmt.architectures.transformer.cross_attention import project_source
from cpunmt.architectures.transformer.records import DECODER_LAYER, ENCODER_LAYER, MEMORY, TRANSFORMER
from cpunmt.kernels.embedding import embed
from cpunmt.kernels.records import SCRATCH
from cpunmt.layers.attention import encoder_attention
from cpunmt.layers.feed_forward import feed_forward
from cpunmt.layers.linear import quantize_again
from cpunmt.layers.residual import finish
from cpunmt.simd.intrinsics import address_of, at, load_i32, load_i64
from cpunmt.simd.jit import address, count, kernel


@kernel
def transformer_encode(network: address, memory: address, ids: address, offsets: address, slots: address, n: count):
    """Computes keys and values of `n` sentences for every layer: `encode` of the contract (see
    `architectures.families`)."""
    t = at(TRANSFORMER, network, 0)
    settings, scratch = address_of(t.settings), address_of(at(MEMORY, memory, 0).scratch)
    w, depth = at(SCRATCH, scratch, 0), t.settings.model_dim
    start = load_i64(offsets, 0)
    for sentence in range(n):
        first = load_i64(offsets, sentence)
        for token in range(first, load_i64(offsets, sentence + 1)):
            embed(address_of(t.source), load_i32(ids, token), token - first, w.x + 4 * (token - start) * depth)
    rows = load_i64(offsets, n) - start
    finish(address_of(t.encoder_embedding_norm), settings, scratch, rows)
    for i in range(t.encoder_layers):
        layer = at(ENCODER_LAYER, t.encoder, i)
        encoder_attention(address_of(layer.self_attention), settings, scratch, offsets, n)
        feed_forward(address_of(layer.feed_forward), settings, scratch, rows)
    if t.settings.preprocess or t.encoder_top_norm.scale != 0:
        finish(address_of(t.encoder_top_norm), settings, scratch, rows)
    # the quantization of x, whether it was normalized or not
    scheme, multiplier = t.encoder_top_norm.scheme, t.encoder_top_norm.multiplier
    for parameters in range(t.decoder_sets):
        layer = at(DECODER_LAYER, t.decoder, parameters)
        reader = layer.cross_attention.key_value
        quantize_again(address_of(reader), scheme, multiplier, w.x, rows, w.quantized, w.row_scales)
        scheme, multiplier = reader.scheme, reader.multiplier
        project_source(address_of(layer.cross_attention), parameters, network, memory, offsets, slots, n)
