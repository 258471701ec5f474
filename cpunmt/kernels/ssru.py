"""The elementwise part of the simpler simple recurrent unit.

    f = sigmoid(g),   c = f * c + (1 - f) * z,   y = max(c, 0)

Kim et al. 2019, "From Research to Production and Back", section 3.1 (equations of the SSRU).
"""

import numpy as np

from cpunmt.jit import address, count, kernel
from cpunmt.kernels.activations import sigmoid, sigmoid_reference
from cpunmt.simd.vector import fma, load, maximum, splat, store


@kernel
def ssru_rows(gates: address, cells: address, rows: count, depth: count, table: address, out: address):
    """One step of `rows` independent cells.

    gates    float32 [rows, 2 * depth]: z, then g
    cells    float32 [rows, depth]: c; overwritten
    out      float32 [rows, depth]: y
    """
    for row in range(rows):
        z, g = gates + 8 * row * depth, gates + 8 * row * depth + 4 * depth
        c, y = cells + 4 * row * depth, out + 4 * row * depth
        for k in range(0, depth, 16):
            candidate = load(z, k)
            state = fma(sigmoid(load(g, k), table), load(c, k) - candidate, candidate)
            store(c, k, state)
            store(y, k, maximum(state, splat(np.float32(0.0))))


def ssru_rows_reference(gates, cells) -> tuple[np.ndarray, np.ndarray]:
    """(new cells, y), float64 [rows, depth] each."""
    z, g = np.split(gates.astype(np.float64), 2, axis=1)
    f = sigmoid_reference(g)
    state = f * cells + (1 - f) * z
    return state, np.maximum(state, 0)
