"""SRU, the simple recurrent unit. Its gates read the input alone, so all products are one product.

    f_t = sigmoid(W_f x_t + b_f),   c_t = f_t * c_{t-1} + (1 - f_t) * W x_t
    r_t = sigmoid(W_r x_t + b_r),   y_t = r_t * tanh(c_t) + (1 - r_t) * x_t

Lei et al. 2018, https://arxiv.org/abs/1709.02755, equations 3 to 6. State: c.
"""

from cpunmt.architectures.transformer.cells.recurrent import recurrent_cell
from cpunmt.kernels.activations import sigmoid, tanh
from cpunmt.simd.jit import address, count, kernel
from cpunmt.simd.vector import fma, load, store


@kernel
def sru_row(
    gates: address,
    state_gates: address,
    x: address,
    state: address,
    depth: count,
    table: address,
    next_state: address,
    out: address,
):
    """Computes one step of one row (see `recurrent_cell`).

    gates     float32 [3 * depth]: W x, W_f x + b_f, W_r x + b_r
    state     float32 [depth]: c
    """
    for k in range(0, depth, 16):
        candidate, given = load(gates, k), load(x, k)
        made = fma(sigmoid(load(gates, depth + k), table), load(state, k) - candidate, candidate)
        store(next_state, k, made)
        store(out, k, fma(sigmoid(load(gates, 2 * depth + k), table), tanh(made, table) - given, given))


sru_cell = recurrent_cell(sru_row)
