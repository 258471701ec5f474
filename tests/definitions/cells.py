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


def gru_row_reference(gates, state_gates, states) -> np.ndarray:
    """New states, which are y too: float64 [..., depth]."""
    (r, z, h), (rs, zs, hs) = (np.split(x.astype(np.float64), 3, axis=-1) for x in (gates, state_gates))
    candidate = np.tanh(h + sigmoid_reference(r + rs) * hs)
    z = sigmoid_reference(z + zs)
    return (1 - z) * candidate + z * states


def lstm_row_reference(gates, state_gates, states) -> np.ndarray:
    """New states, whose first half is y: float64 [..., 2 * depth]."""
    f, i, g, o = np.split(gates.astype(np.float64) + state_gates, 4, axis=-1)
    memory = sigmoid_reference(f) * states[..., states.shape[-1] // 2 :] + sigmoid_reference(i) * np.tanh(g)
    return np.concatenate([sigmoid_reference(o) * np.tanh(memory), memory], axis=-1)
