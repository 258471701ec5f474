"""The elementwise part of the simpler simple recurrent unit.

    f = sigmoid(g),   c = f * c + (1 - f) * z,   y = max(c, 0)

Kim et al. 2019, "From Research to Production and Back", section 3.1 (equations of the SSRU).
"""

import numpy as np

from cpunmt.kernels.activations import sigmoid, sigmoid_reference
from cpunmt.simd.jit import address, count, kernel
from cpunmt.simd.vector import broadcast, fma, load, maximum, store


@kernel
def ssru_row(gates: address, cell: address, depth: count, table: address, next_cell: address, out: address):
    """One step of one cell.

    gates    float32 [2 * depth]: z, then g
    cell     float32 [depth]: c before the step; next_cell: after it (may be the same)
    out      float32 [depth]: y
    """
    for k in range(0, depth, 16):
        candidate = load(gates, k)
        state = fma(sigmoid(load(gates, depth + k), table), load(cell, k) - candidate, candidate)
        store(next_cell, k, state)
        store(out, k, maximum(state, broadcast(np.float32(0.0))))


def ssru_row_reference(gates, cells) -> tuple[np.ndarray, np.ndarray]:
    """(new cells, y), float64 [..., depth] each."""
    z, g = np.split(gates.astype(np.float64), 2, axis=-1)
    f = sigmoid_reference(g)
    state = f * cells + (1 - f) * z
    return state, np.maximum(state, 0)
