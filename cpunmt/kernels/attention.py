"""Multi-head scaled dot-product attention on ragged batches: each sentence on its own, nothing padded.

    context[i] = sum_j softmax_j(q_i . k_j / sqrt(head_dim)) v_j        for each head

Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, section 3.2. Head h owns columns
h * head_dim ... (h + 1) * head_dim - 1.

Sixteen scores are one vector. In self-attention those are of sixteen queries and one key, so that a softmax over the
keys is sixteen at once, lane by lane; one query alone (cross-attention) has sixteen keys side by side.
"""

import numpy as np

from cpunmt.kernels.matmul.float_matmul import float_heads, float_matmul
from cpunmt.kernels.softmax import softmax_columns, softmax_rows
from cpunmt.simd.intrinsics import lesser, store_i64
from cpunmt.simd.jit import address, count, kernel, real
from cpunmt.simd.vector import transpose


@kernel
def pack_rows(rows: address, row_bytes: count, length: count, depth: count, pointers: address, out: address):
    """Turn `length` float32 rows into the columns of packed panels (kernels/packing): out[p, d, j] = rows[16 p + j, d].

    rows       `depth` floats each, a multiple of 16, `row_bytes` apart
    out        float32 [panels, depth, 16]; the last panel is filled up with copies of the last row
    pointers   room for int64 [16]
    """
    for first in range(0, length, 16):
        for i in range(16):
            store_i64(pointers, i, rows + lesser(first + i, length - 1) * row_bytes)
        for d in range(0, depth, 16):
            transpose(pointers, 4 * d, out + 4 * (first * depth + 16 * d), 64)


@kernel
def self_attention(
    qkv: address,
    length: count,
    model_dim: count,
    heads: count,
    factor: real,
    packed: address,
    scores: address,
    pointers: address,
    out: address,
):
    """All heads of one sentence, one after another.

    qkv         float32 [length, 3 * model_dim]: queries, keys, values
    packed      room for float32 [panels, head_dim, 16], where panels = length / 16, rounded up
    scores      room for float32 [length, 16 * panels]: a row for each key, a column for each query
    pointers    room for int64 [16]
    out         float32 [length, model_dim]
    """
    head_dim = model_dim // heads
    panels = (length + 15) // 16
    row_bytes, score_bytes = 12 * model_dim, 64 * panels
    for head in range(heads):
        q = qkv + 4 * head * head_dim
        k, v = q + 4 * model_dim, q + 8 * model_dim
        context = out + 4 * head * head_dim
        pack_rows(q, row_bytes, length, head_dim, pointers, packed)
        float_matmul(k, row_bytes, 4, length, packed, 64 * head_dim, 64, panels, head_dim, scores, score_bytes)
        softmax_columns(scores, length, panels, factor)
        float_matmul(scores, 4, score_bytes, length, v, 64, row_bytes, head_dim // 16, length, context, 4 * model_dim)


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
    out: address,
):
    """All heads of one query against the keys of one source sentence, side by side.

    q        float32 [model_dim]
    keys     as `pack_rows` makes them of all heads at once: float32 [panels, model_dim, 16]
    values   float32 [length, model_dim]
    scores   room for float32 [heads, 16 * panels], sums for [heads]
    out      float32 [model_dim]
    """
    head_dim = model_dim // heads
    panels = (length + 15) // 16
    head_bytes, score_bytes = 4 * head_dim, 64 * panels
    float_heads(q, head_bytes, heads, keys, 64 * head_dim, 64 * model_dim, 64, panels, head_dim, scores, score_bytes)
    softmax_rows(scores, heads, 16 * panels, length, factor, sums)
    float_heads(
        scores, score_bytes, heads, values, head_bytes, 64, 4 * model_dim, head_dim // 16, length, out, head_bytes
    )


def attention_reference(q, k, v, heads: int) -> np.ndarray:
    """float64 [queries, model_dim] from float32 [queries, model_dim], [length, model_dim] twice."""
    q, k, v = (np.stack(np.split(array.astype(np.float64), heads, axis=1)) for array in (q, k, v))
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[2])
    power = np.exp(scores - scores.max(axis=2, keepdims=True))
    return np.concatenate(list(power / power.sum(axis=2, keepdims=True) @ v), axis=1)
