"""LSTM, long short-term memory: a state of two parts, and four gates that read the input and one of them.

    f_t, i_t, g_t, o_t = W x_t + U h_{t-1} + b
    c_t = sigmoid(f_t) * c_{t-1} + sigmoid(i_t) * tanh(g_t),   h_t = sigmoid(o_t) * tanh(c_t),   y_t = h_t

Hochreiter and Schmidhuber 1997, https://doi.org/10.1162/neco.1997.9.8.1735, with the forget gate of Gers et al. 2000,
in Marian's order. State: h, then c.
"""

from cpunmt.architectures.transformer.cells.recurrent import recurrent_cell
from cpunmt.kernels.activations import sigmoid, tanh
from cpunmt.simd.jit import address, count, kernel
from cpunmt.simd.vector import fma, load, store


@kernel
def lstm_row(
    gates: address,
    state_gates: address,
    x: address,
    state: address,
    depth: count,
    table: address,
    next_state: address,
    out: address,
):
    """One step of one row (see `recurrent_cell`).

    gates          float32 [4 * depth]: of x: f, i, g, o, with the bias
    state_gates    float32 [4 * depth]: the same of h
    state          float32 [2 * depth]: h, then c
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


lstm_cell = recurrent_cell(lstm_row)
