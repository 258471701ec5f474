"""What recurrent cells share: the product of the block's input, states by row, and the way to the residual stream."""

from cpunmt.architectures.reading import row_at
from cpunmt.architectures.transformer.reading import cell_at, memory_at, transformer_at
from cpunmt.kernels.copying import copy_floats
from cpunmt.kernels.matmul.int8_matmul import AFFINE
from cpunmt.kernels.reading import linear_at, scratch_at
from cpunmt.layers.linear import linear, quantize
from cpunmt.layers.residual import after_block, before_block
from cpunmt.simd.intrinsics import address_of
from cpunmt.simd.jit import address, count, kernel


@kernel
def layer_states(number: count, memory: address) -> count:
    """Where the states of decoder layer `number` begin in `states` and in `next_states`, in bytes."""
    w = memory_at(memory, 0)
    return number * (w.slots * w.beam + 1) * w.state_bytes


@kernel
def begin_cell(layer: address, network: address, memory: address, n: count):
    """The product of a CELL record's input for `n` rows, into the scratch memory's `wide`."""
    weights, settings = cell_at(layer, 0), address_of(transformer_at(network, 0).settings)
    scratch = address_of(memory_at(memory, 0).scratch)
    s = scratch_at(scratch, 0)
    before_block(address_of(weights.residual), settings, scratch, n)
    linear(address_of(weights.input), s.input, s.quantized, s.row_scales, n, s.wide, AFFINE)


@kernel
def multiply_states(layer: address, number: count, network: address, memory: address, rows: address, n: count):
    """The product of a CELL record's state for ROW records [n] of decoder layer `number`, into `wider`.

    It reads the first model_dim numbers of each row's parent's state, and leaves `context` overwritten.
    """
    weights, w = address_of(cell_at(layer, 0).state), memory_at(memory, 0)
    s, depth = scratch_at(address_of(w.scratch), 0), transformer_at(network, 0).settings.model_dim
    first = w.states + layer_states(number, memory)
    for i in range(n):
        copy_floats(first + row_at(rows, i).parent * w.state_bytes, depth, s.context + 4 * i * depth)
    quantize(weights, s.context, n, s.quantized, s.row_scales)
    linear(weights, s.context, s.quantized, s.row_scales, n, s.wider, AFFINE)


@kernel
def end_cell(layer: address, network: address, memory: address, n: count):
    """From y, through the projection where the model has one, to x."""
    weights, settings = cell_at(layer, 0), address_of(transformer_at(network, 0).settings)
    scratch = address_of(memory_at(memory, 0).scratch)
    s, output = scratch_at(scratch, 0), address_of(weights.output)
    if linear_at(output, 0).panels != 0:
        quantize(output, s.y, n, s.quantized, s.row_scales)
        linear(output, s.y, s.quantized, s.row_scales, n, s.context, AFFINE)
        s.y, s.context = s.context, s.y
    after_block(address_of(weights.residual), settings, scratch, n)
