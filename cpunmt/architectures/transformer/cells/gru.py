"""GRU, the gated recurrent unit: its gates read the input and the state.

    r_t = sigmoid(W_r x_t + U_r s_{t-1} + b_r),   z_t = sigmoid(W_z x_t + U_z s_{t-1} + b_z)
    s_t = (1 - z_t) * tanh(W x_t + r_t * (U s_{t-1}) + b) + z_t * s_{t-1},   y_t = s_t

Cho et al. 2014, https://arxiv.org/abs/1406.1078, with the reset gate after the product, as in Marian. State: s.
"""

from cpunmt.architectures.reading import row_at
from cpunmt.architectures.transformer.cells.recurrent import begin_cell, end_cell, layer_states, multiply_states
from cpunmt.architectures.transformer.reading import memory_at, transformer_at
from cpunmt.kernels.activations import sigmoid, tanh
from cpunmt.kernels.reading import scratch_at
from cpunmt.simd.intrinsics import address_of
from cpunmt.simd.jit import address, count, kernel
from cpunmt.simd.vector import fma, load, store


@kernel
def gru_row(
    gates: address,
    state_gates: address,
    state: address,
    depth: count,
    table: address,
    next_state: address,
    out: address,
):
    """One step of one row.

    gates          float32 [3 * depth]: W_r x + b_r, W_z x + b_z, W x + b
    state_gates    float32 [3 * depth]: U_r s, U_z s, U s
    state          float32 [depth]: s before the step; next_state: after it (may be the same)
    table          that of kernels.tables.sigmoid_table
    out            float32 [depth]: y
    """
    for k in range(0, depth, 16):
        reset = sigmoid(load(gates, k) + load(state_gates, k), table)
        update = sigmoid(load(gates, depth + k) + load(state_gates, depth + k), table)
        candidate = tanh(fma(reset, load(state_gates, 2 * depth + k), load(gates, 2 * depth + k)), table)
        made = fma(update, load(state, k) - candidate, candidate)
        store(next_state, k, made)
        store(out, k, made)


@kernel
def gru_cell(layer: address, number: count, network: address, memory: address, rows: address, n: count):
    """One step of decoder layer `number` on x, for ROW records [n]."""
    begin_cell(layer, network, memory, n)
    multiply_states(layer, number, network, memory, rows, n)
    settings, w = transformer_at(network, 0).settings, memory_at(memory, 0)
    s, depth, first = scratch_at(address_of(w.scratch), 0), settings.model_dim, layer_states(number, memory)
    for i in range(n):
        gates, state_gates, out = s.wide + 12 * i * depth, s.wider + 12 * i * depth, s.y + 4 * i * depth
        state = w.states + first + row_at(rows, i).parent * w.state_bytes
        next_state = w.next_states + first + i * w.state_bytes
        gru_row(gates, state_gates, state, depth, settings.sigmoid_table, next_state, out)
    end_cell(layer, network, memory, n)
