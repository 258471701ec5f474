"""One step of each recurrent cell for any rows, in NumPy; the equations are in the cells' modules."""

import numpy as np

from tests.definitions.kernels import sigmoid_reference


def ssru_row_reference(gates, states) -> tuple[np.ndarray, np.ndarray]:
    """(new states, y), float64 [..., depth] each."""
    z, g = np.split(gates.astype(np.float64), 2, axis=-1)
    f = sigmoid_reference(g)
    state = f * states + (1 - f) * z
    return state, np.maximum(state, 0)


def sru_row_reference(gates, x, states) -> tuple[np.ndarray, np.ndarray]:
    """(new states, y), float64 [..., depth] each."""
    z, g, h = np.split(gates.astype(np.float64), 3, axis=-1)
    f, r = sigmoid_reference(g), sigmoid_reference(h)
    state = f * states + (1 - f) * z
    return state, r * np.tanh(state) + (1 - r) * x
