"""Position-wise feed-forward network: x = norm(x + relu(x W1 + b1) W2 + b2).

Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, section 3.3.
"""

from cpunmt.jit import address, count, kernel
from cpunmt.kernels.int8_matmul import AFFINE, RELU
from cpunmt.kernels.reading import feed_forward_at, model_at, workspace_at
from cpunmt.layers.linear import linear, quantize
from cpunmt.layers.norm import add_and_norm
from cpunmt.simd.intrinsics import address_of


@kernel
def feed_forward(layer: address, model: address, workspace: address, rows: count):
    """Apply a FEED_FORWARD record to the workspace's x [rows, model_dim]."""
    weights, m, w = feed_forward_at(layer, 0), model_at(model, 0), workspace_at(workspace, 0)
    linear(address_of(weights.inner), w.x, w.quantized, w.row_scales, rows, w.wide, RELU, 1)
    quantize(m.scheme, w.wide, rows, m.ffn_dim, w.quantized, w.row_scales)
    linear(address_of(weights.outer), w.wide, w.quantized, w.row_scales, rows, w.y, AFFINE, 0)
    add_and_norm(address_of(weights.norm), model, workspace, rows)
