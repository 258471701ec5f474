"""The decoder: one step of all rows."""

from cpunmt.jit import address, count, kernel
from cpunmt.kernels.embedding import embed
from cpunmt.kernels.reading import decoder_layer_at, model_at, workspace_at
from cpunmt.layers.attention import cross_attention
from cpunmt.layers.cells.ssru import ssru
from cpunmt.layers.feed_forward import feed_forward
from cpunmt.layers.linear import quantize
from cpunmt.simd.intrinsics import address_of, load_i64


@kernel
def decode_step(model: address, workspace: address, rows: count):
    """From each row's previous piece and state to its hidden vector, in x and quantized; the states move on."""
    m, w = model_at(model, 0), workspace_at(workspace, 0)
    for row in range(rows):
        embed(model, load_i64(w.row_previous, row), load_i64(w.row_step, row), w.x + 4 * row * m.model_dim)
    quantize(m.scheme, w.x, rows, m.model_dim, w.quantized, w.row_scales)
    for i in range(m.decoder_layers):
        parameters = load_i64(m.decoder_parameters, i)
        layer = decoder_layer_at(m.decoder, parameters)
        cells = w.cells + 4 * i * w.slots * m.model_dim
        ssru(address_of(layer), cells, model, workspace, rows)
        cross_attention(address_of(layer), parameters, model, workspace, rows)
        feed_forward(address_of(layer.feed_forward), model, workspace, rows)
