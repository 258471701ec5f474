"""Scaled dot-product attention of all heads: softmax(q k^T / sqrt(d / heads)) v; see `quantize.reference.formulas`."""

import math

import torch
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

_KERNELS = [SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]


def attention(queries, keys, values, heads: int, visible) -> torch.Tensor:
    """Returns (batch, queries, d). `visible` marks the keys that count: bool (batch or 1, queries or 1, keys).

    On a CPU it uses two batched products and a softmax in float32: PyTorch's fused kernel takes four times as long
    there to differentiate sentences of usual length in bfloat16. On a GPU cuDNN's kernels are left out: they are
    prepared for each shape anew, and each batch has another one.
    """
    q, k, v = (x.unflatten(-1, (heads, -1)).transpose(1, 2) for x in (queries, keys, values))
    visible = visible[:, None]
    if queries.device.type != "cpu":
        with sdpa_kernel(_KERNELS):
            made = functional.scaled_dot_product_attention(q, k, v, attn_mask=visible)
    else:
        scores = (q @ k.transpose(2, 3)).float() * (1 / math.sqrt(q.shape[-1]))
        made = scores.masked_fill_(~visible, torch.finfo(scores.dtype).min).softmax(-1).to(v.dtype) @ v
    return made.transpose(1, 2).flatten(2)
