"""Sharing between rows of one parent of the results that depend only on its state ("merged recurrent states").

Devlin 2017, https://arxiv.org/abs/1705.01991, section 4.5.
"""

from cpunmt.architectures.records import ROW
from cpunmt.architectures.recurrent.maps import mapped
from cpunmt.architectures.recurrent.records import MEMORY, RECURRENT
from cpunmt.kernels.copying import copy_floats
from cpunmt.simd.intrinsics import address_of, at, load_i64, store_i64
from cpunmt.simd.jit import address, count, kernel


@kernel
def find_parents(memory: address, rows: address, n: count, merged: count) -> count:
    """Writes each parent of ROW records [n] once (if not `merged`, for each of its rows) to `parents`, in their order.

    Returns their number; `askers` and `shared` map rows and parents to each other.
    """
    w, found = at(MEMORY, memory, 0), 0
    for i in range(n):
        parent = at(ROW, rows, i).parent
        place = load_i64(w.marks, parent)
        if place < 0:
            place = found
            found += 1
            store_i64(w.parents, place, parent)
            store_i64(w.askers, place, i)
            if merged:
                store_i64(w.marks, parent, place)
        store_i64(w.shared, i, place)
    for place in range(found):
        store_i64(w.marks, load_i64(w.parents, place), -1)
    w.rows_seen += n
    w.rows_multiplied += found
    return found


@kernel
def states_of(memory: address, states: address, number: count) -> count:
    """Returns the beginning of the states of layer `number` in one of the two buffers."""
    w = at(MEMORY, memory, 0)
    return states + number * w.slots * (w.beam + 1) * w.state_bytes


@kernel
def parent_state(memory: address, number: count, parent: count) -> count:
    """Returns the address of the state that `parent` has left in layer `number`."""
    w = at(MEMORY, memory, 0)
    return states_of(memory, w.states, number) + parent * w.state_bytes


@kernel
def parents_mapped(
    layer: address, network: address, memory: address, number: count, dim: count, parents: count, out: address
):
    """Applies a MAP to the first `dim` numbers of each parent's state of layer `number`: float32 [parents, columns]."""
    w, settings = at(MEMORY, memory, 0), address_of(at(RECURRENT, network, 0).settings)
    for k in range(parents):
        copy_floats(parent_state(memory, number, load_i64(w.parents, k)), dim, w.gathered + 4 * k * dim)
    mapped(layer, settings, w.gathered, parents, address_of(w.scratch), out)
