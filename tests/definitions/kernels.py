"""Defines the kernels of `cpunmt.kernels` in NumPy, for comparison in tests.

The formulas are in the kernels' modules.
"""

import math

import numpy as np

from cpunmt.kernels.gates import GELU, GELU_TANH, RELU, SIGMOID, SWISH, TANH
from cpunmt.kernels.softmax import LOWEST


def sigmoid_reference(x: np.ndarray) -> np.ndarray:
    """float64 sigmoid."""
    return 1.0 / (1.0 + np.exp(-x.astype(np.float64)))


def attention_reference(q, k, v, heads: int) -> np.ndarray:
    """float64 [queries, model_dim] from float32 [queries, model_dim], [length, model_dim] twice."""
    q, k, v = (np.stack(np.split(array.astype(np.float64), heads, axis=1)) for array in (q, k, v))
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[2])
    power = np.exp(scores - scores.max(axis=2, keepdims=True))
    return np.concatenate(list(power / power.sum(axis=2, keepdims=True) @ v), axis=1)


def relative_attention_reference(q, k, v, heads: int, scale: float, bias=None, vectors=None) -> np.ndarray:
    """float64 [queries, dim], of the last positions of the keys; `bias` [heads, 2 reach + 1], or `vectors`: the keys
    and the values of places, [2 reach + 1, head_dim] each."""
    q, k, v = (np.stack(np.split(array.astype(np.float64), heads, axis=1)) for array in (q, k, v))
    reach = ((vectors[0].shape[0] if bias is None else bias.shape[1]) - 1) // 2
    out = np.zeros((q.shape[1], heads, q.shape[2]))
    for head in range(heads):
        for query in range(q.shape[1]):
            position = k.shape[1] - q.shape[1] + query
            places = [min(max(key - position, -reach), reach) + reach for key in range(k.shape[1])]
            near = [np.zeros((len(places), 1))] * 2 if vectors is None else [part[places] for part in vectors]
            scores = (k[head] + near[0]) @ q[head, query] * scale
            scores = scores if bias is None else scores + bias[head, places]
            power = np.exp(scores - scores.max())
            out[query, head] = power / power.sum() @ (v[head] + near[1])
    return out.reshape(len(out), -1)


def copy_floats_reference(source: np.ndarray) -> np.ndarray:
    """The same numbers in another array."""
    return source.copy()


def add_weighted_reference(x: np.ndarray, weight: np.float32, before: np.ndarray | None) -> np.ndarray:
    """float32, rounded twice; `before`: what is there already."""
    return weight * x if before is None else before + weight * x


def activate_reference(x: np.ndarray, function: int) -> np.ndarray:
    """float64."""
    x = x.astype(np.float64)
    if function == RELU:
        return np.maximum(x, 0)
    if function == GELU:
        return x * 0.5 * (1 + np.vectorize(math.erf)(x * 0.5**0.5))
    if function == GELU_TANH:
        return x * 0.5 * (1 + np.tanh((2 / np.pi) ** 0.5 * (x + 0.044715 * x**3)))
    if function in (TANH, SIGMOID):
        return np.tanh(x) if function == TANH else sigmoid_reference(x)
    return x * sigmoid_reference(x if function == SWISH else 1.702 * x)


def gate_rows_reference(x: np.ndarray, function: int) -> np.ndarray:
    """float64 [rows, width] from [rows, 2 * width]."""
    left, right = np.split(x.astype(np.float64), 2, axis=1)
    return activate_reference(left, function) * right


def highway_reference(gates, y, x) -> np.ndarray:
    """float64."""
    g = sigmoid_reference(gates)
    return g * y + (1 - g) * x


def weigh_reference(kept, x, renewed, y) -> np.ndarray:
    """float64."""
    return sigmoid_reference(kept) * x + sigmoid_reference(renewed) * y


def average_reference(x, cell, share) -> tuple[np.ndarray, np.ndarray]:
    """(next cell, out), float64."""
    state = cell.astype(np.float64) + x
    return state, share * state


def residual_layer_norm_reference(x, y, scale, bias, epsilon, root_mean_square=False) -> np.ndarray:
    """float64 [rows, depth]."""
    s = x.astype(np.float64) + y.astype(np.float64)
    centred = s if root_mean_square else s - s.mean(axis=1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + epsilon) * scale + bias


def softmax_rows_reference(scores: np.ndarray, factor: float) -> np.ndarray:
    """float64 [rows, length]."""
    s = scores.astype(np.float64) * factor
    power = np.exp(s - s.max(axis=1, keepdims=True))
    return power / power.sum(axis=1, keepdims=True)


def log_sum_exp_reference(scores: np.ndarray) -> float:
    """float64 log-sum-exp."""
    s = scores.astype(np.float64)
    return float(s.max() + np.log(np.exp(s - s.max()).sum()))


def top_k_reference(scores: np.ndarray, k: int) -> np.ndarray:
    """Indices of the k largest, equals in the order of their index."""
    order = np.argsort(-scores, kind="stable")
    return order[scores[order] > LOWEST][:k]


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


def additive_scores_reference(keys, query, score) -> np.ndarray:
    """float64 [length] of keys [length, depth], query [depth] and score [depth], less what all have."""
    score = score.astype(np.float64)
    return np.tanh(keys.astype(np.float64) + query) @ score - score.sum()


def layer_norm_columns_reference(x, scale, bias, epsilon) -> np.ndarray:
    """float64 [rows, depth]."""
    return residual_layer_norm_reference(x, np.zeros_like(x), scale, bias, epsilon)


def squash_reference(x) -> np.ndarray:
    """float64."""
    return np.tanh(x.astype(np.float64))


def clip_reference(x, limit) -> np.ndarray:
    """The same numbers, none above the limit."""
    return np.minimum(x, limit)


def add_rows_reference(x, y) -> np.ndarray:
    """float32: one rounding."""
    return x + y
