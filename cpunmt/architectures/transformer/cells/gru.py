"""GRU, the gated recurrent unit: its gates read the input and the state.

    r_t = sigmoid(W_r x_t + U_r s_{t-1} + b_r),   z_t = sigmoid(W_z x_t + U_z s_{t-1} + b_z)
    s_t = (1 - z_t) * tanh(W x_t + r_t * (U s_{t-1}) + b) + z_t * s_{t-1},   y_t = s_t

Cho et al. 2014, https://arxiv.org/abs/1406.1078, with the reset gate after the product, as in Marian. State: s.
"""

from cpunmt.architectures.transformer.cells.recurrent import recurrent_cell
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
    """One step of one row (see `recurrent_cell`).

    gates          float32 [3 * depth]: W_r x + b_r, W_z x + b_z, W x + b
    state_gates    float32 [3 * depth]: U_r s, U_z s, U s
    state          float32 [depth]: s
    """
    for k in range(0, depth, 16):
        reset = sigmoid(load(gates, k) + load(state_gates, k), table)
        update = sigmoid(load(gates, depth + k) + load(state_gates, depth + k), table)
        candidate = tanh(fma(reset, load(state_gates, 2 * depth + k), load(gates, 2 * depth + k)), table)
        made = fma(update, load(state, k) - candidate, candidate)
        store(next_state, k, made)
        store(out, k, made)


gru_cell = recurrent_cell(gru_row)
