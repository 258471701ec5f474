"""The common part of recurrent cells, all except the elementwise function."""

from cpunmt.architectures.records import ROW
from cpunmt.architectures.transformer.records import CELL, MEMORY, TRANSFORMER
from cpunmt.kernels.copying import copy_floats
from cpunmt.kernels.matmul.int8_matmul import AFFINE
from cpunmt.kernels.records import LINEAR, SCRATCH, SETTINGS
from cpunmt.layers.linear import linear, linear_of
from cpunmt.layers.residual import after_block, before_block
from cpunmt.simd.intrinsics import address_of, at
from cpunmt.simd.jit import address, count, kernel


@kernel
def layer_states(number: count, memory: address) -> count:
    """Returns the beginning of the states of decoder layer `number` in `states` and in `next_states`, in bytes."""
    w = at(MEMORY, memory, 0)
    return number * (w.slots * w.beam + 1) * w.state_bytes


@kernel
def begin_cell(layer: address, number: count, network: address, memory: address, rows: address, n: count):
    """Computes the products of a CELL record for ROW records [n] of decoder layer `number`, in the scratch memory.

    The product of the block's input is in `wide`, that of the state in `wider`, if the cell has one: it reads the first
    model_dim numbers of each row's parent's state, and overwrites `context`.
    """
    weights, w = at(CELL, layer, 0), at(MEMORY, memory, 0)
    settings, scratch = address_of(at(TRANSFORMER, network, 0).settings), address_of(w.scratch)
    s, depth, state = at(SCRATCH, scratch, 0), at(SETTINGS, settings, 0).model_dim, address_of(weights.state)
    before_block(address_of(weights.residual), settings, scratch, n)
    linear(address_of(weights.input), s.input, s.quantized, s.row_scales, n, s.wide, AFFINE, s.room)
    if at(LINEAR, state, 0).panels != 0:
        first = w.states + layer_states(number, memory)
        for i in range(n):
            copy_floats(first + at(ROW, rows, i).parent * w.state_bytes, depth, s.context + 4 * i * depth)
        linear_of(state, s.context, n, scratch, s.wider, AFFINE)


@kernel
def end_cell(layer: address, network: address, memory: address, n: count):
    """Computes x from y, through the projection if the model has one."""
    weights, settings = at(CELL, layer, 0), address_of(at(TRANSFORMER, network, 0).settings)
    scratch = address_of(at(MEMORY, memory, 0).scratch)
    s, output = at(SCRATCH, scratch, 0), address_of(weights.output)
    if at(LINEAR, output, 0).panels != 0:
        linear_of(output, s.y, n, scratch, s.context, AFFINE)
        s.y, s.context = s.context, s.y
    after_block(address_of(weights.residual), settings, scratch, n)


def recurrent_cell(row):
    """Makes the kernel NAME_cell: one step of a decoder layer on x, whose elementwise part is the kernel `row`,
    NAME_row.

    `row` computes one step of one row. Its arguments are addresses of float32, except `depth`, which is model_dim:

        gates          the columns of the CELL record's input, with the bias
        state_gates    those of its state
        x              [depth]: the cell's input
        state          [state]: before the step; next_state: after it (may be the same)
        table          that of kernels.tables.sigmoid_table
        out            [depth]: y
    """

    def cell(layer: address, number: count, network: address, memory: address, rows: address, n: count):
        begin_cell(layer, number, network, memory, rows, n)
        settings, weights, w = at(TRANSFORMER, network, 0).settings, at(CELL, layer, 0), at(MEMORY, memory, 0)
        s, first = at(SCRATCH, address_of(w.scratch), 0), layer_states(number, memory)
        row_bytes, gate_bytes, state_bytes = (
            4 * settings.model_dim,
            64 * weights.input.panels,
            64 * weights.state.panels,
        )
        for i in range(n):
            row(
                s.wide + i * gate_bytes,
                s.wider + i * state_bytes,
                s.input + i * row_bytes,
                w.states + first + at(ROW, rows, i).parent * w.state_bytes,
                settings.model_dim,
                settings.sigmoid_table,
                w.next_states + first + i * w.state_bytes,
                s.y + i * row_bytes,
            )
        end_cell(layer, network, memory, n)

    cell.__name__ = row.name.replace("_row", "_cell")
    return kernel(cell)
