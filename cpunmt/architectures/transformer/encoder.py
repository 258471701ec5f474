"""The encoder: all tokens of a few sentences at once, ragged, into the slots of the decoder."""

from cpunmt.kernels.embedding import embed
from cpunmt.kernels.reading import decoder_layer_at, encoder_layer_at, model_at, workspace_at
from cpunmt.layers.attention import encoder_attention, project_source
from cpunmt.layers.feed_forward import feed_forward
from cpunmt.layers.linear import quantize_again
from cpunmt.layers.residual import finish
from cpunmt.simd.intrinsics import address_of, load_i32, load_i64
from cpunmt.simd.jit import address, count, kernel


@kernel
def encode(model: address, workspace: address, ids: address, offsets: address, sentences: count):
    """Encode `sentences` sentences, and project them into the topmost free slots (see `project_source`).

    ids        int32: all sources of the batch, one after another
    offsets    int64 [sentences + 1]: where these begin in `ids`
    """
    m, w = model_at(model, 0), workspace_at(workspace, 0)
    start = load_i64(offsets, 0)
    for sentence in range(sentences):
        first = load_i64(offsets, sentence)
        for token in range(first, load_i64(offsets, sentence + 1)):
            embed(
                model,
                address_of(m.source),
                load_i32(ids, token),
                token - first,
                w.x + 4 * (token - start) * m.model_dim,
            )
    rows = load_i64(offsets, sentences) - start
    finish(address_of(m.encoder_embedding_norm), model, workspace, rows)
    for i in range(m.encoder_layers):
        layer = encoder_layer_at(m.encoder, i)
        encoder_attention(address_of(layer.self_attention), model, workspace, offsets, sentences)
        feed_forward(address_of(layer.feed_forward), model, workspace, rows)
    if m.preprocess or m.encoder_top_norm.scale != 0:
        finish(address_of(m.encoder_top_norm), model, workspace, rows)
    # what x has been quantized for, whether it was normalized or not
    scheme, multiplier = m.encoder_top_norm.scheme, m.encoder_top_norm.multiplier
    for parameters in range(m.decoder_sets):
        layer = decoder_layer_at(m.decoder, parameters)
        reader = layer.cross_attention.key_value
        quantize_again(address_of(reader), scheme, multiplier, w.x, rows, w.quantized, w.row_scales)
        scheme, multiplier = reader.scheme, reader.multiplier
        project_source(address_of(layer.cross_attention), parameters, model, workspace, offsets, sentences)
