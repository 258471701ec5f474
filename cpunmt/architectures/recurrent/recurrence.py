"""Recurrent layers of the decoder."""

from cpunmt.architectures.records import ROW
from cpunmt.architectures.recurrent.maps import cell_step, mapped
from cpunmt.architectures.recurrent.parents import parent_state, parents_mapped, states_of
from cpunmt.architectures.recurrent.records import CELL, LAYER, MEMORY, RECURRENT
from cpunmt.simd.intrinsics import address_of, at, load_i64
from cpunmt.simd.jit import address, count, kernel


@kernel
def transitions(layer: address, first: count, number: count, network: address, memory: address, n: count, x: address):
    """Runs the cells of a LAYER from `first` on, which read only their state, in place on the last output."""
    net, w, cells = at(RECURRENT, network, 0), at(MEMORY, memory, 0), at(LAYER, layer, 0)
    settings, states = address_of(net.settings), states_of(memory, w.next_states, number)
    for j in range(first, cells.cells):
        cell = at(CELL, cells.cell, j)
        mapped(address_of(cell.state), settings, x, n, address_of(w.scratch), w.product)
        for i in range(n):
            state = states + i * w.state_bytes
            made = w.product + 4 * i * cell.width
            cell_step(address_of(cell), settings, cell.constant, made, state, state, x + 4 * i * cell.dim)


@kernel
def recurrent_layer(
    cell: address,
    number: count,
    network: address,
    memory: address,
    rows: address,
    parents: count,
    n: count,
    out: address,
):
    """Runs a cell of layer `number`: reads its input's gates, float32 [n, width] in `product`, and its parent's
    state."""
    net, w, c = at(RECURRENT, network, 0), at(MEMORY, memory, 0), at(CELL, cell, 0)
    settings, states = address_of(net.settings), states_of(memory, w.next_states, number)
    parents_mapped(address_of(c.state), network, memory, number, c.dim, parents, w.state_gates)
    for i in range(n):
        gates, state_gates = w.product + 4 * i * c.width, w.state_gates + 4 * c.width * load_i64(w.shared, i)
        state = parent_state(memory, number, at(ROW, rows, i).parent)
        cell_step(cell, settings, gates, state_gates, state, states + i * w.state_bytes, out + 4 * i * c.dim)
