"""The formulae of the network's parts in NumPy float32.

Those with another form (`singledispatch`) are operations of their own in the graphs of `quantize.onnx`.
"""

import math
from collections.abc import Callable
from functools import singledispatch
from typing import Any

import numpy as np


def positions(first: int, count: int, d: int, kind: str = "marian") -> np.ndarray:
    """Returns position signals (count, d): sine of p 10000^(-i / n) for i < d/2, then the cosines.

    Marian's n is d/2 - 1; that of "tensor2tensor" (and Hugging Face's Marian models) is d/2. "fairseq" has Marian's,
    and its first position is 2.
    """
    slowest = d // 2 if kind == "tensor2tensor" else d // 2 - 1
    first += 2 if kind == "fairseq" else 0
    angles = np.arange(first, first + count)[:, None] * 10000.0 ** (-np.arange(d // 2) / max(slowest, 1))
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32)


def attention(queries: Any, keys: Any, values: Any, heads: int, scale: float | None = None) -> Any:
    """Returns scaled dot-product attention: (queries, d). Head h owns columns h d/heads to (h + 1) d/heads."""
    return weighted_values(attention_weights(queries, keys, heads, scale), values)


def attention_weights(queries: Any, keys: Any, heads: int, scale: float | None = None, added: Any = 0) -> Any:
    """Returns the weight of each value for each query: (heads, queries, keys).

    scale    of the products; None: 1 / sqrt(d / heads)
    added    to the scaled products, (heads, queries, keys)
    """
    q, k = by_head(queries, heads), by_head(keys, heads)
    products = q @ k.transpose(0, 2, 1)
    scaled = products / np.float32(math.sqrt(q.shape[2])) if scale is None else products * np.float32(scale)
    return softmax(scaled + added)


def distance_bucket(distance: int, buckets: int, furthest: int, both_ways: bool) -> int:
    """Returns the bucket of a key `distance` behind (or, below 0, before) its query.

    Raffel et al. 2020, https://arxiv.org/abs/1910.10683, section 2.1: half of the buckets are single distances, the
    others grow by a factor up to `furthest`. Both ways, each direction has half of them. One way, keys behind the query
    count as distance 0.
    """
    first = 0
    if both_ways:
        buckets //= 2
        first = buckets if distance > 0 else 0
    else:
        distance = min(distance, 0)
    single, distance = buckets // 2, abs(distance)
    if distance < single:
        return first + distance
    grown = math.log(distance / single) / math.log(furthest / single) * (buckets - single)
    return first + min(single + int(grown + 1e-9), buckets - 1)


def weighted_values(weights: Any, values: Any) -> Any:
    """Returns each head's weighted sums of its columns of the values: (queries, d)."""
    made: np.ndarray = weights @ by_head(values, len(weights))
    return made.transpose(1, 0, 2).reshape(weights.shape[1], -1)


def by_head(x: Any, heads: Any) -> Any:
    """Returns each head's columns: (heads, rows, d / heads)."""
    return x.reshape(len(x), heads, -1).transpose(1, 0, 2)


@singledispatch
def layer_norm(x: Any, scale: Any, bias: Any, epsilon: float) -> Any:
    """Normalizes each row to mean 0 and (biased) variance 1, then applies scale and bias.

    Ba et al. 2016, https://arxiv.org/abs/1607.06450, section 3.
    """
    centred = x - x.mean(axis=1, keepdims=True)
    variance = np.square(centred).mean(axis=1, keepdims=True)
    return scale * centred / np.sqrt(variance + np.float32(epsilon)) + bias


@singledispatch
def rms_norm(x: Any, scale: Any, bias: Any, epsilon: float) -> Any:
    """Divides each row by the root of its mean square, then applies scale and bias (which is 0 in known models).

    Zhang and Sennrich 2019, https://arxiv.org/abs/1910.07467.
    """
    return scale * x / np.sqrt(np.square(x).mean(axis=1, keepdims=True) + np.float32(epsilon)) + bias


@singledispatch
def interpolated(gate: Any, y: Any, x: Any) -> Any:
    """Interpolates between x (where the gate is 0) and y (where it is 1)."""
    return gate * y + (1 - gate) * x


@singledispatch
def relu(x: Any) -> Any:
    return np.maximum(x, np.float32(0))


@singledispatch
def tanh(x: Any) -> Any:
    return np.tanh(x)


@singledispatch
def sigmoid(x: Any) -> Any:
    return np.float32(0.5) * (1 + np.tanh(np.float32(0.5) * x))  # 1 / (1 + exp(-x)), without overflow


def swish(x: Any) -> Any:
    """Computes swish: Ramachandran et al. 2017, https://arxiv.org/abs/1710.05941."""
    return x * sigmoid(x)


@singledispatch
def gelu(x: Any) -> Any:
    """Returns x times the normal distribution function of x; Hendrycks and Gimpel 2016,
    https://arxiv.org/abs/1606.08415.
    """
    erf = np.vectorize(math.erf, otypes=[np.float32])(x * np.float32(math.sqrt(0.5)))
    return np.float32(0.5) * x * (1 + erf)


def gelu_sigmoid(x: Any) -> Any:
    """Computes the approximation of gelu in the same paper that Marian's forks for production use."""
    return x * sigmoid(np.float32(1.702) * x)


def gelu_tanh(x: Any) -> Any:
    """Computes the other approximation of gelu in that paper, 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))."""
    return x * np.float32(0.5) * (1 + tanh(np.float32(math.sqrt(2 / math.pi)) * (x + np.float32(0.044715) * x * x * x)))


ACTIVATIONS: dict[str, Callable[[Any], Any]]
ACTIVATIONS = {
    "relu": relu,
    "swish": swish,
    "gelu": gelu,
    "gelu_sigmoid": gelu_sigmoid,
    "gelu_tanh": gelu_tanh,
    "tanh": tanh,
    "sigmoid": sigmoid,
}


def softmax(x: Any) -> Any:
    exponentials = np.exp(x - x.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)
