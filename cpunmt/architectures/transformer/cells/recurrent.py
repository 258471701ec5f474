"""Recurrent cells whose gates read the input alone: SSRU and SRU.

    f_t = sigmoid(W_f x_t + b_f),   c_t = f_t * c_{t-1} + (1 - f_t) * W x_t
    SSRU    y_t = relu(c_t)                                         Kim et al. 2019, section 3.1
    SRU     y_t = r_t * tanh(c_t) + (1 - r_t) * x_t                 Lei et al. 2018, https://arxiv.org/abs/1709.02755

All products have one input, so they are one product. State: c, float32 [model_dim] per row; it starts as 0.
"""

from cpunmt.kernels.matmul.int8_matmul import AFFINE
from cpunmt.kernels.reading import cell_at, hypothesis_at, linear_at, model_at, workspace_at
from cpunmt.kernels.records import CELLS
from cpunmt.kernels.sru import sru_row
from cpunmt.kernels.ssru import ssru_row
from cpunmt.layers.linear import linear, quantize
from cpunmt.layers.residual import after_block, before_block
from cpunmt.simd.intrinsics import address_of
from cpunmt.simd.jit import address, count, kernel

SSRU = CELLS.index("ssru")


@kernel
def state_offset(number: count, model: address, workspace: address) -> count:
    """Where the states of decoder layer `number` begin in the workspace's `cells` and `next_cells`, in bytes."""
    w = workspace_at(workspace, 0)
    return 4 * number * (w.slots * w.beam + 1) * model_at(model, 0).model_dim


@kernel
def begin_cell(layer: address, model: address, workspace: address, rows: count):
    """The product of a CELL record's input, into the workspace's `wide`."""
    weights, w = cell_at(layer, 0), workspace_at(workspace, 0)
    before_block(address_of(weights.residual), model, workspace, rows)
    linear(address_of(weights.input), w.input, w.quantized, w.row_scales, rows, w.wide, AFFINE)


@kernel
def end_cell(layer: address, model: address, workspace: address, rows: count):
    """From y, through the projection where the model has one, to x."""
    weights, w = cell_at(layer, 0), workspace_at(workspace, 0)
    output = address_of(weights.output)
    if linear_at(output, 0).panels != 0:
        quantize(output, w.y, rows, w.quantized, w.row_scales)
        linear(output, w.y, w.quantized, w.row_scales, rows, w.context, AFFINE)
        w.y, w.context = w.context, w.y
    after_block(address_of(weights.residual), model, workspace, rows)


@kernel
def recurrent(layer: address, number: count, model: address, workspace: address, rows: count):
    """One step of decoder layer `number` on the workspace's x [rows, model_dim], from each row's parent's state."""
    m, w = model_at(model, 0), workspace_at(workspace, 0)
    begin_cell(layer, model, workspace, rows)
    depth, table = m.model_dim, m.sigmoid_table
    row_bytes, gate_bytes = 4 * depth, 64 * cell_at(layer, 0).input.panels
    offset = state_offset(number, model, workspace)
    for row in range(rows):
        gates, out = w.wide + row * gate_bytes, w.y + row * row_bytes
        cell = w.cells + offset + hypothesis_at(w.hypotheses, row).parent * row_bytes
        next_cell = w.next_cells + offset + row * row_bytes
        if m.cell == SSRU:
            ssru_row(gates, cell, depth, table, next_cell, out)
        else:
            sru_row(gates, w.input + row * row_bytes, cell, depth, table, next_cell, out)
    end_cell(layer, model, workspace, rows)
