"""SSRU, the simpler simple recurrent unit. Its gate reads the input alone, so all products are one product.

    f_t = sigmoid(W_f x_t + b_f),   c_t = f_t * c_{t-1} + (1 - f_t) * W x_t,   y_t = relu(c_t)

Kim et al. 2019, "From Research to Production and Back" (https://aclanthology.org/D19-5632), section 3.1. State: c.
"""

import numpy as np

from cpunmt.architectures.reading import row_at
from cpunmt.architectures.transformer.cells.recurrent import begin_cell, end_cell, layer_states
from cpunmt.architectures.transformer.reading import memory_at, transformer_at
from cpunmt.kernels.activations import sigmoid
from cpunmt.kernels.reading import scratch_at
from cpunmt.simd.intrinsics import address_of
from cpunmt.simd.jit import address, count, kernel
from cpunmt.simd.vector import broadcast, fma, load, maximum, store


@kernel
def ssru_row(gates: address, state: address, depth: count, table: address, next_state: address, out: address):
    """One step of one row.

    gates     float32 [2 * depth]: W x, then W_f x + b_f
    state     float32 [depth]: c before the step; next_state: after it (may be the same)
    table     that of kernels.tables.sigmoid_table
    out       float32 [depth]: y
    """
    for k in range(0, depth, 16):
        candidate = load(gates, k)
        made = fma(sigmoid(load(gates, depth + k), table), load(state, k) - candidate, candidate)
        store(next_state, k, made)
        store(out, k, maximum(made, broadcast(np.float32(0.0))))


@kernel
def ssru_cell(layer: address, number: count, network: address, memory: address, rows: address, n: count):
    """One step of decoder layer `number` on x, for ROW records [n]."""
    begin_cell(layer, network, memory, n)
    settings, w = transformer_at(network, 0).settings, memory_at(memory, 0)
    s, depth, first = scratch_at(address_of(w.scratch), 0), settings.model_dim, layer_states(number, memory)
    for i in range(n):
        state = w.states + first + row_at(rows, i).parent * w.state_bytes
        next_state = w.next_states + first + i * w.state_bytes
        ssru_row(s.wide + 8 * i * depth, state, depth, settings.sigmoid_table, next_state, s.y + 4 * i * depth)
    end_cell(layer, network, memory, n)
