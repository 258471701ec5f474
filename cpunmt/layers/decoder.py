"""The decoder: one step of all rows."""

from cpunmt.jit import address, count, kernel
from cpunmt.kernels.embedding import embed
from cpunmt.kernels.reading import decoder_layer_at, hypothesis_at, model_at, workspace_at
from cpunmt.layers.attention import cross_attention
from cpunmt.layers.cells.ssru import ssru
from cpunmt.layers.feed_forward import feed_forward
from cpunmt.layers.linear import quantize
from cpunmt.simd.intrinsics import address_of, load_i64


@kernel
def decode_step(model: address, workspace: address, rows: count):
    """From each hypothesis's last piece and its parent's state to its hidden vector, in x and quantized.

    Its own state is written to the workspace's `next_cells`.
    """
    m, w = model_at(model, 0), workspace_at(workspace, 0)
    for row in range(rows):
        h = hypothesis_at(w.hypotheses, row)
        embed(model, h.piece, h.step, w.x + 4 * row * m.model_dim)
    quantize(m.scheme, w.x, rows, m.model_dim, w.quantized, w.row_scales)
    for i in range(m.decoder_layers):
        parameters = load_i64(m.decoder_parameters, i)
        layer = decoder_layer_at(m.decoder, parameters)
        ssru(address_of(layer), i, model, workspace, rows)
        cross_attention(address_of(layer), i, parameters, model, workspace, rows)
        feed_forward(address_of(layer.feed_forward), model, workspace, rows)
