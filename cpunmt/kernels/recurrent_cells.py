"""Recurrent cells that read their state: the elementwise part of one step of one row.

    GRU     r = sigmoid(g_r + s_r),  z = sigmoid(g_z + s_z),  s' = (1 - z) * tanh(g + r * s) + z * state
    LSTM    f, i, c, o = gates + state gates;  m' = sigmoid(f) * m + sigmoid(i) * tanh(c),  h' = sigmoid(o) * tanh(m')

The gates are affine maps of the input, the state gates those of the state (of an LSTM: of h, its first half). Arguments
are addresses of float32, except `depth`, a multiple of 16:

    gates, state_gates    [3 * depth] or [4 * depth]: in the order of the formulas
    x                     not read: cells have the arguments of `architectures/transformer/cells/recurrent`
    state, next_state     [depth], of an LSTM [2 * depth]: h, then m; may be the same
    table                 that of kernels.tables.sigmoid_table
    out                   [depth]: the new state, of an LSTM h'

Cho et al. 2014, https://arxiv.org/abs/1406.1078, with the reset gate after the product, as in Marian; Hochreiter and
Schmidhuber 1997, https://doi.org/10.1162/neco.1997.9.8.1735, with the forget gate of Gers et al. 2000.
"""

from cpunmt.kernels.activations import sigmoid, tanh
from cpunmt.simd.jit import address, count, kernel
from cpunmt.simd.vector import fma, load, store


@kernel
def gru_row(
    gates: address,
    state_gates: address,
    x: address,
    state: address,
    depth: count,
    table: address,
    next_state: address,
    out: address,
):
    """Computes one step of a GRU: see above."""
    for k in range(0, depth, 16):
        reset = sigmoid(load(gates, k) + load(state_gates, k), table)
        update = sigmoid(load(gates, depth + k) + load(state_gates, depth + k), table)
        candidate = tanh(fma(reset, load(state_gates, 2 * depth + k), load(gates, 2 * depth + k)), table)
        made = fma(update, load(state, k) - candidate, candidate)
        store(next_state, k, made)
        store(out, k, made)


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
    """Computes one step of an LSTM: see above."""
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
