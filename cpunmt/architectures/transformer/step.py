"""The decoder: the beginning of a hypothesis, and one step of all rows."""

from importlib import import_module

from cpunmt.architectures.records import ROW
from cpunmt.architectures.transformer.cells.kinds import CELLS
from cpunmt.architectures.transformer.cross_attention import cross_attention
from cpunmt.architectures.transformer.records import DECODER_LAYER, MEMORY, TRANSFORMER
from cpunmt.kernels.embedding import embed
from cpunmt.kernels.records import SCRATCH
from cpunmt.layers.feed_forward import feed_forward
from cpunmt.layers.linear import quantize_again
from cpunmt.layers.residual import finish
from cpunmt.simd.intrinsics import address_of, at, load_i64
from cpunmt.simd.jit import address, count, kernel, one_of

# `NAME_cell` of the file NAME in `cells`: (CELL record, number of the layer, TRANSFORMER, MEMORY, ROW [n], n) computes
# the block's x from each row's parent's state, and leaves the row's own state
_cell = one_of(
    [getattr(import_module(f"cpunmt.architectures.transformer.cells.{name}"), f"{name}_cell") for name in CELLS]
)


@kernel
def transformer_start(network: address, memory: address, slot: count) -> count:
    """Returns the parent of a first row, whose state of zeros follows those of all rows: `start` of the contract."""
    w = at(MEMORY, memory, 0)
    return w.slots * w.beam


@kernel
def transformer_step(network: address, memory: address, rows: address, n: count):
    """Computes one step of all rows: `step` of the contract."""
    t, w = at(TRANSFORMER, network, 0), at(MEMORY, memory, 0)
    settings, scratch = address_of(t.settings), address_of(w.scratch)
    s, depth, plain = at(SCRATCH, scratch, 0), t.settings.model_dim, t.settings.preprocess == 0
    for i in range(n):
        row = at(ROW, rows, i)
        embed(address_of(t.target), row.piece, row.step, s.x + 4 * i * depth)
    finish(address_of(t.decoder_embedding_norm), settings, scratch, n)
    # the quantization of x; layers that share a norm may need a different one
    scheme, multiplier = t.decoder_embedding_norm.scheme, t.decoder_embedding_norm.multiplier
    for number in range(t.decoder_layers):
        parameters = load_i64(t.decoder_parameters, number)
        layer = at(DECODER_LAYER, t.decoder, parameters)
        if plain:
            quantize_again(address_of(layer.cell.input), scheme, multiplier, s.x, n, s.quantized, s.row_scales)
        _cell(t.cell, address_of(layer.cell), number, network, memory, rows, n)
        cross_attention(address_of(layer.cross_attention), number, parameters, network, memory, rows, n)
        feed_forward(address_of(layer.feed_forward), settings, scratch, n)
        scheme, multiplier = layer.feed_forward.residual.after.scheme, layer.feed_forward.residual.after.multiplier
    top = t.decoder_top_norm
    if not plain or top.scale != 0 or top.scheme != scheme or top.multiplier != multiplier:
        finish(address_of(t.decoder_top_norm), settings, scratch, n)
    w.states, w.next_states = w.next_states, w.states
