"""The decoder: the beginning of a hypothesis, and one step of all rows."""

from cpunmt.architectures.records import ROW
from cpunmt.architectures.recurrent.attend import attend, tell_alignments
from cpunmt.architectures.recurrent.first_maps import first_map
from cpunmt.architectures.recurrent.maps import cell_step, mapped, normed
from cpunmt.architectures.recurrent.parents import find_parents, parent_state, parents_mapped
from cpunmt.architectures.recurrent.records import CELL, LAYER, MEMORY, RECURRENT
from cpunmt.architectures.recurrent.recurrence import recurrent_layer, transitions
from cpunmt.architectures.recurrent.top import stack, top
from cpunmt.kernels.gates import add_rows
from cpunmt.kernels.matmul.quantize_rows import quantize_as
from cpunmt.kernels.records import SCRATCH
from cpunmt.simd.intrinsics import address_of, at, load_i64, store_i64
from cpunmt.simd.jit import address, count, kernel


@kernel
def recurrent_start(network: address, memory: address, slot: count) -> count:
    """Returns the parent of a first row, whose state, from the encoder, follows the states of all rows: `start` of the
    contract."""
    w = at(MEMORY, memory, 0)
    return w.slots * w.beam + slot


@kernel
def conditional_layer(network: address, memory: address, rows: address, n: count, parents: count, out: address):
    """Runs a first layer in which one cell reads the last piece, and another the context selected by the first one's
    state."""
    net, w = at(RECURRENT, network, 0), at(MEMORY, memory, 0)
    settings, scratch, layer = address_of(net.settings), address_of(w.scratch), at(LAYER, net.decoder, 0)
    before, after, made = at(CELL, layer.cell, 0), at(CELL, layer.cell, 1), w.next_states
    width, dim = before.width, 4 * net.decoder_dim
    parents_mapped(address_of(before.state), network, memory, 0, before.dim, parents, w.state_gates)
    for i in range(n):
        gates, state_gates = load_i64(w.places, i), w.state_gates + 4 * width * load_i64(w.shared, i)
        state = parent_state(memory, 0, at(ROW, rows, i).parent)
        cell_step(address_of(before), settings, gates, state_gates, state, made + i * w.state_bytes, out + i * dim)
    mapped(address_of(net.query), settings, out, n, scratch, w.asked)
    for i in range(n):
        store_i64(w.askers, i, i)
    attend(network, memory, rows, w.askers, n)
    tell_alignments(memory, rows, n, 0)
    context, asked = 4 * net.context.columns, 4 * net.query.columns
    for i in range(n):
        state, state_gates = made + i * w.state_bytes, w.asked + i * asked + 4 * net.attention_dim
        cell_step(address_of(after), settings, w.contexts + i * context, state_gates, state, state, out + i * dim)


@kernel
def input_layer(network: address, memory: address, rows: address, n: count, parents: count, out: address):
    """Runs a first layer in which one cell reads the last piece, and the context selected by its parent's state."""
    net, w = at(RECURRENT, network, 0), at(MEMORY, memory, 0)
    settings, cell = address_of(net.settings), at(CELL, at(LAYER, net.decoder, 0).cell, 0)
    dim, width = 4 * net.decoder_dim, cell.width
    parents_mapped(address_of(net.query), network, memory, 0, cell.dim, parents, w.asked)
    attend(network, memory, rows, w.askers, parents)
    tell_alignments(memory, rows, n, w.shared)
    context, asked = 4 * net.context.columns, 4 * net.query.columns
    for i in range(n):
        parent = load_i64(w.shared, i)
        add_rows(load_i64(w.places, i), w.contexts + parent * context, width, w.product)
        normed(address_of(cell.input), settings, 1, w.product)
        state, state_gates = parent_state(memory, 0, at(ROW, rows, i).parent), w.asked + parent * asked
        made = w.next_states + i * w.state_bytes
        state_gates += 4 * net.attention_dim
        cell_step(address_of(cell), settings, w.product, state_gates, state, made, out + i * dim)


@kernel
def recurrent_step(network: address, memory: address, rows: address, n: count):
    """Computes one step of all rows: `step` of the contract."""
    net, w = at(RECURRENT, network, 0), at(MEMORY, memory, 0)
    settings, scratch = address_of(net.settings), address_of(w.scratch)
    s, said, dim = at(SCRATCH, scratch, 0), w.levels, net.decoder_dim
    for i in range(n):
        store_i64(w.pieces, i, at(ROW, rows, i).piece)
    first_map(address_of(net.decoder_input), settings, memory, n)
    parents = find_parents(memory, rows, n, net.merged)
    if net.conditional:
        conditional_layer(network, memory, rows, n, parents, said)
    else:
        input_layer(network, memory, rows, n, parents, said)
    transitions(net.decoder, 1 + net.conditional, 0, network, memory, n, said)
    for number in range(1, net.decoder_layers):
        layer, above = at(LAYER, net.decoder, number), w.levels + (number % 2) * w.level_bytes
        cell = at(CELL, layer.cell, 0)
        mapped(address_of(cell.input), settings, said, n, scratch, w.product)
        recurrent_layer(address_of(cell), number, network, memory, rows, parents, n, above)
        transitions(address_of(layer), 1, number, network, memory, n, above)
        if net.skip:
            add_rows(above, said, n * dim, above)
        said = above
    said = stack(network, memory, said, n)
    top(network, memory, rows, parents, said, n)
    quantize_as(net.output_scheme, net.output_multiplier, s.x, n, net.settings.model_dim, s.quantized, s.row_scales)
    w.states, w.next_states = w.next_states, w.states
