"""LSTM, long short-term memory: a state of two parts, and four gates that read the input and one of them.

    f_t, i_t, g_t, o_t = W x_t + U h_{t-1} + b
    c_t = sigmoid(f_t) * c_{t-1} + sigmoid(i_t) * tanh(g_t),   h_t = sigmoid(o_t) * tanh(c_t),   y_t = h_t

Hochreiter and Schmidhuber 1997, https://doi.org/10.1162/neco.1997.9.8.1735, with the forget gate of Gers et al. 2000,
in Marian's order. State: h, then c.
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
def lstm_row(
    gates: address,
    state_gates: address,
    state: address,
    depth: count,
    table: address,
    next_state: address,
    out: address,
):
    """One step of one row.

    gates          float32 [4 * depth]: of x: f, i, g, o, with the bias
    state_gates    float32 [4 * depth]: the same of h
    state          float32 [2 * depth]: h, then c, before the step; next_state: after it (may be the same)
    table          that of kernels.tables.sigmoid_table
    out            float32 [depth]: y
    """
    for k in range(0, depth, 16):
        forget = sigmoid(load(gates, k) + load(state_gates, k), table)
        renew = sigmoid(load(gates, depth + k) + load(state_gates, depth + k), table)
        candidate = tanh(load(gates, 2 * depth + k) + load(state_gates, 2 * depth + k), table)
        shown = sigmoid(load(gates, 3 * depth + k) + load(state_gates, 3 * depth + k), table)
        memory = fma(forget, load(state, depth + k), renew * candidate)
        hidden = shown * tanh(memory, table)
        store(next_state, k, hidden)
        store(next_state, depth + k, memory)
        store(out, k, hidden)


@kernel
def lstm_cell(layer: address, number: count, network: address, memory: address, rows: address, n: count):
    """One step of decoder layer `number` on x, for ROW records [n]."""
    begin_cell(layer, network, memory, n)
    multiply_states(layer, number, network, memory, rows, n)
    settings, w = transformer_at(network, 0).settings, memory_at(memory, 0)
    s, depth, first = scratch_at(address_of(w.scratch), 0), settings.model_dim, layer_states(number, memory)
    for i in range(n):
        gates, state_gates, out = s.wide + 16 * i * depth, s.wider + 16 * i * depth, s.y + 4 * i * depth
        state = w.states + first + row_at(rows, i).parent * w.state_bytes
        next_state = w.next_states + first + i * w.state_bytes
        lstm_row(gates, state_gates, state, depth, settings.sigmoid_table, next_state, out)
    end_cell(layer, network, memory, n)
