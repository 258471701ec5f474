"""The decoder: one step of all rows."""

from cpunmt.architectures.transformer.cells.average_attention import average_attention
from cpunmt.architectures.transformer.cells.own_attention import own_attention
from cpunmt.architectures.transformer.cells.recurrent import recurrent
from cpunmt.kernels.embedding import embed
from cpunmt.kernels.reading import decoder_layer_at, hypothesis_at, model_at, workspace_at
from cpunmt.kernels.records import CELLS
from cpunmt.layers.attention import cross_attention
from cpunmt.layers.feed_forward import feed_forward
from cpunmt.layers.linear import quantize_again
from cpunmt.layers.residual import finish
from cpunmt.simd.intrinsics import address_of, load_i64
from cpunmt.simd.jit import address, count, kernel

SELF_ATTENTION, AVERAGE_ATTENTION = CELLS.index("self_attention"), CELLS.index("average_attention")


@kernel
def decode_step(model: address, workspace: address, rows: count):
    """From each hypothesis's last piece and its parent's state to its hidden vector, in x and quantized.

    Its own state is written to the workspace's `next_cells`.
    """
    m, w = model_at(model, 0), workspace_at(workspace, 0)
    for row in range(rows):
        h = hypothesis_at(w.hypotheses, row)
        embed(model, address_of(m.target), h.piece, h.step, w.x + 4 * row * m.model_dim)
    finish(address_of(m.decoder_embedding_norm), model, workspace, rows)
    # what x has been quantized for; layers that share a norm may want something else
    scheme, multiplier = m.decoder_embedding_norm.scheme, m.decoder_embedding_norm.multiplier
    for i in range(m.decoder_layers):
        parameters = load_i64(m.decoder_parameters, i)
        layer = decoder_layer_at(m.decoder, parameters)
        cell = address_of(layer.cell)
        if m.preprocess == 0:
            quantize_again(address_of(layer.cell.input), scheme, multiplier, w.x, rows, w.quantized, w.row_scales)
        if m.cell == SELF_ATTENTION:
            own_attention(cell, i, model, workspace, rows)
        elif m.cell == AVERAGE_ATTENTION:
            average_attention(cell, i, model, workspace, rows)
        else:
            recurrent(cell, i, model, workspace, rows)
        cross_attention(address_of(layer.cross_attention), i, parameters, model, workspace, rows)
        feed_forward(address_of(layer.feed_forward), model, workspace, rows)
        scheme, multiplier = layer.feed_forward.residual.after.scheme, layer.feed_forward.residual.after.multiplier
    top = m.decoder_top_norm
    if m.preprocess or top.scale != 0 or top.scheme != scheme or top.multiplier != multiplier:
        finish(address_of(m.decoder_top_norm), model, workspace, rows)
