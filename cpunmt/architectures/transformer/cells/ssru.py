"""SSRU, the simpler simple recurrent unit. Its gate reads the input alone, so all products are one product.

    f_t = sigmoid(W_f x_t + b_f),   c_t = f_t * c_{t-1} + (1 - f_t) * W x_t,   y_t = relu(c_t)

Kim et al. 2019, "From Research to Production and Back" (https://aclanthology.org/D19-5632), section 3.1. State: c.
"""

import numpy as np

from cpunmt.architectures.transformer.cells.recurrent import recurrent_cell
from cpunmt.kernels.activations import sigmoid
from cpunmt.simd.jit import address, count, kernel
from cpunmt.simd.vector import broadcast, fma, load, maximum, store


@kernel
def ssru_row(
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

    gates     float32 [2 * depth]: W x, then W_f x + b_f
    state     float32 [depth]: c
    """
    for k in range(0, depth, 16):
        candidate = load(gates, k)
        made = fma(sigmoid(load(gates, depth + k), table), load(state, k) - candidate, candidate)
        store(next_state, k, made)
        store(out, k, maximum(made, broadcast(np.float32(0.0))))


ssru_cell = recurrent_cell(ssru_row)
