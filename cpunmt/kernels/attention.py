"""Multi-head scaled dot-product attention on ragged batches: each sentence on its own, nothing padded.

    context[i] = sum_j softmax_j(q_i . k_j / sqrt(head_dim)) v_j        for each head

Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, section 3.2. Head h owns columns
h * head_dim ... (h + 1) * head_dim - 1. Keys are turned into columns first, so that 16 scores are one vector.
"""

import numpy as np

from cpunmt.jit import address, count, kernel, real
from cpunmt.kernels.float_matmul import float_heads, float_matmul
from cpunmt.kernels.softmax import softmax_rows
from cpunmt.simd.intrinsics import lesser, store_i64
from cpunmt.simd.vector import transpose


@kernel
def transpose_keys(
    keys: address, row_bytes: count, length: count, depth: count, pointers: address, out: address, stride: count
):
    """out[d, j] = keys[j, d]: float32 [depth, stride] from `length` rows of `depth` floats, a multiple of 16.

    Places from `length` up to the next multiple of 16 get copies of the last key. `pointers` is room for int64 [16].
    """
    for first in range(0, length, 16):
        for i in range(16):
            store_i64(pointers, i, keys + lesser(first + i, length - 1) * row_bytes)
        for d in range(0, depth, 16):
            transpose(pointers, 4 * d, out + 4 * (d * stride + first), 4 * stride)


@kernel
def self_attention(
    qkv: address,
    length: count,
    model_dim: count,
    heads: count,
    factor: real,
    transposed: address,
    scores: address,
    sums: address,
    pointers: address,
    stride: count,
    out: address,
):
    """All heads of one sentence, one after another.

    qkv         float32 [length, 3 * model_dim]: queries, keys, values
    transposed  room for float32 [head_dim, stride], scores for [length, stride], sums for [length],
                pointers for int64 [16]; stride >= length, a multiple of 16
    out         float32 [length, model_dim]
    """
    head_dim = model_dim // heads
    row_bytes, score_bytes = 12 * model_dim, 4 * stride
    panels = (length + 15) // 16
    for head in range(heads):
        q = qkv + 4 * head * head_dim
        k, v = q + 4 * model_dim, q + 8 * model_dim
        context = out + 4 * head * head_dim
        transpose_keys(k, row_bytes, length, head_dim, pointers, transposed, stride)
        float_matmul(q, row_bytes, length, transposed, 64, score_bytes, panels, head_dim, scores, score_bytes)
        softmax_rows(scores, length, stride, length, factor, sums)
        float_matmul(scores, score_bytes, length, v, 64, row_bytes, head_dim // 16, length, context, 4 * model_dim)


@kernel
def cross_attention_row(
    q: address,
    keys: address,
    values: address,
    length: count,
    model_dim: count,
    heads: count,
    factor: real,
    scores: address,
    sums: address,
    stride: count,
    out: address,
):
    """All heads of one query against the keys of one source sentence, side by side.

    q        float32 [model_dim]
    keys     float32 [model_dim, stride], transposed; values float32 [length, model_dim]
    scores   room for float32 [heads, stride], sums for [heads]
    out      float32 [model_dim]
    """
    head_dim = model_dim // heads
    head_bytes, score_bytes = 4 * head_dim, 4 * stride
    panels = (length + 15) // 16
    float_heads(
        q, head_bytes, heads, keys, head_dim * score_bytes, 64, score_bytes, panels, head_dim, scores, score_bytes
    )
    softmax_rows(scores, heads, stride, length, factor, sums)
    float_heads(
        scores, score_bytes, heads, values, head_bytes, 64, 4 * model_dim, head_dim // 16, length, out, head_bytes
    )


def attention_reference(q, k, v, heads: int) -> np.ndarray:
    """float64 [queries, model_dim] from float32 [queries, model_dim], [length, model_dim] twice."""
    q, k, v = (np.stack(np.split(array.astype(np.float64), heads, axis=1)) for array in (q, k, v))
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[2])
    power = np.exp(scores - scores.max(axis=2, keepdims=True))
    return np.concatenate(list(power / power.sum(axis=2, keepdims=True) @ v), axis=1)
