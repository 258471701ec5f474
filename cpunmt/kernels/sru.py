"""The elementwise part of the simple recurrent unit.

    f = sigmoid(g),   c = f * c + (1 - f) * z,   y = r * tanh(c) + (1 - r) * x,   r = sigmoid(h)

Lei et al. 2018, https://arxiv.org/abs/1709.02755, equations 3 to 6.
"""

import numpy as np

from cpunmt.kernels.activations import sigmoid, sigmoid_reference
from cpunmt.simd.jit import address, count, kernel
from cpunmt.simd.vector import broadcast, fma, load, store


@kernel
def sru_row(gates: address, x: address, cell: address, depth: count, table: address, next_cell: address, out: address):
    """One step of one cell.

    gates    float32 [3 * depth]: z, g, h
    x        float32 [depth]: the cell's input
    cell     float32 [depth]: c before the step; next_cell: after it (may be the same)
    out      float32 [depth]: y
    """
    one, two = broadcast(np.float32(1.0)), broadcast(np.float32(2.0))
    for k in range(0, depth, 16):
        candidate, given = load(gates, k), load(x, k)
        state = fma(sigmoid(load(gates, depth + k), table), load(cell, k) - candidate, candidate)
        store(next_cell, k, state)
        bounded = two * sigmoid(two * state, table) - one  # tanh
        store(out, k, fma(sigmoid(load(gates, 2 * depth + k), table), bounded - given, given))


def sru_row_reference(gates, x, cells) -> tuple[np.ndarray, np.ndarray]:
    """(new cells, y), float64 [..., depth] each."""
    z, g, h = np.split(gates.astype(np.float64), 3, axis=-1)
    f, r = sigmoid_reference(g), sigmoid_reference(h)
    state = f * cells + (1 - f) * z
    return state, r * np.tanh(state) + (1 - r) * x
