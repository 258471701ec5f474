"""Multi-head scaled dot-product attention on ragged batches: each sentence on its own, nothing padded.

    context[i] = sum_j softmax_j(q_i . k_j / sqrt(head_dim)) v_j        for each head

Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, section 3.2. Head h owns columns
h * head_dim ... (h + 1) * head_dim - 1. Keys are turned into columns first, so that 16 scores are one vector.
"""

import numpy as np

from cpunmt.jit import address, count, kernel, real
from cpunmt.kernels.float_matmul import float_matmul
from cpunmt.kernels.softmax import softmax_row
from cpunmt.simd.intrinsics import load_f32, store_f32


@kernel
def transpose_keys(keys: address, row_bytes: count, length: count, head_dim: count, out: address, stride: count):
    """out[d, j] = keys[j, d]: float32 [head_dim, stride] from `length` rows; places up to a multiple of 16 are 0."""
    padded = (length + 15) // 16 * 16
    for d in range(head_dim):
        for j in range(length):
            store_f32(out, d * stride + j, load_f32(keys + j * row_bytes, d))
        for j in range(length, padded):
            store_f32(out, d * stride + j, np.float32(0.0))


@kernel
def attend(
    q: address,
    query_bytes: count,
    queries: count,
    keys: address,
    stride: count,
    values: address,
    value_bytes: count,
    length: count,
    head_dim: count,
    factor: real,
    scores: address,
    out: address,
    out_bytes: count,
):
    """One head: `queries` rows of q against `length` keys.

    q       float32 [queries, head_dim], rows `query_bytes` apart
    keys    float32 [head_dim, stride], transposed; values float32 [length, head_dim], rows `value_bytes` apart
    scores  room for float32 [queries, stride]
    out     float32 [queries, head_dim], rows `out_bytes` apart
    """
    panels = (length + 15) // 16
    float_matmul(q, query_bytes, queries, keys, 64, 4 * stride, panels, head_dim, scores, 4 * stride)
    for i in range(queries):
        softmax_row(scores + 4 * i * stride, length, factor)
    float_matmul(scores, 4 * stride, queries, values, 64, value_bytes, head_dim // 16, length, out, out_bytes)


@kernel
def self_attention(
    qkv: address,
    length: count,
    model_dim: count,
    heads: count,
    factor: real,
    transposed: address,
    scores: address,
    stride: count,
    out: address,
):
    """All heads of one sentence.

    qkv         float32 [length, 3 * model_dim]: queries, keys, values
    transposed  room for float32 [head_dim, stride], scores for [length, stride]; stride >= length, a multiple of 16
    out         float32 [length, model_dim]
    """
    head_dim = model_dim // heads
    row_bytes = 12 * model_dim
    for head in range(heads):
        q = qkv + 4 * head * head_dim
        transpose_keys(q + 4 * model_dim, row_bytes, length, head_dim, transposed, stride)
        attend(
            q,
            row_bytes,
            length,
            transposed,
            stride,
            q + 8 * model_dim,
            row_bytes,
            length,
            head_dim,
            factor,
            scores,
            out + 4 * head * head_dim,
            4 * model_dim,
        )


def attention_reference(q, k, v, heads: int) -> np.ndarray:
    """float64 [queries, model_dim] from float32 [queries, model_dim], [length, model_dim] twice."""
    q, k, v = (np.stack(np.split(array.astype(np.float64), heads, axis=1)) for array in (q, k, v))
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[2])
    power = np.exp(scores - scores.max(axis=2, keepdims=True))
    return np.concatenate(list(power / power.sum(axis=2, keepdims=True) @ v), axis=1)
