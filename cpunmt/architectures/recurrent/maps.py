"""Affine maps whose columns may be normed, and the cells that read their results."""

from cpunmt.architectures.recurrent.records import CELL, MAP, SPAN
from cpunmt.kernels.layer_norm import layer_norm_columns
from cpunmt.kernels.matmul.int8_matmul import AFFINE
from cpunmt.kernels.records import SETTINGS
from cpunmt.kernels.recurrent_cells import gru_row, lstm_row
from cpunmt.layers.linear import linear_of
from cpunmt.simd.intrinsics import address_of, at
from cpunmt.simd.jit import address, count, kernel, one_of

_cell_row = one_of([gru_row, lstm_row])  # in the order of records.CELLS


@kernel
def normed(layer: address, settings: address, rows: count, x: address):
    """Applies the layer norms of a MAP record to float32 x [rows, columns], in place."""
    m, epsilon = at(MAP, layer, 0), at(SETTINGS, settings, 0).epsilon
    for i in range(m.spans):
        span = at(SPAN, m.span, i)
        layer_norm_columns(x + 4 * span.first, rows, m.columns, span.width, span.scale, span.bias, epsilon)


@kernel
def mapped(layer: address, settings: address, x: address, rows: count, scratch: address, out: address):
    """Computes out = norm(x W + b), float32 [rows, columns], for a MAP record and float32 x [rows, depth]."""
    linear_of(address_of(at(MAP, layer, 0).linear), x, rows, scratch, out, AFFINE)
    normed(layer, settings, rows, out)


@kernel
def cell_step(
    cell: address, settings: address, gates: address, state_gates: address, state: address, made: address, out: address
):
    """Computes a step of a row of a CELL record: from `state` to `made`, which may be the same, and the output to
    `out`."""
    c, table = at(CELL, cell, 0), at(SETTINGS, settings, 0).sigmoid_table
    _cell_row(c.kind, gates, state_gates, 0, state, c.dim, table, made, out)
