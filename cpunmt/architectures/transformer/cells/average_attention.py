"""Average attention: the mean of all inputs so far, a small network, and two gates.

    c_t = c_{t-1} + x_t,   y = network(c_t / t),   y_t = sigmoid(W_i x_t + b_i) * x_t + sigmoid(W_f y + b_f) * y

Zhang et al. 2018, https://arxiv.org/abs/1805.00631, section 3. State: c, float32 [model_dim] per row.
"""

import numpy as np

from cpunmt.architectures.transformer.cells.recurrent import state_offset
from cpunmt.kernels.gates import average, weigh
from cpunmt.kernels.layer_norm import residual_layer_norm
from cpunmt.kernels.matmul.int8_matmul import AFFINE
from cpunmt.kernels.reading import cell_at, feed_forward_at, hypothesis_at, model_at, workspace_at
from cpunmt.layers.feed_forward import network
from cpunmt.layers.linear import linear, quantize
from cpunmt.layers.residual import after_block
from cpunmt.simd.intrinsics import address_of
from cpunmt.simd.jit import address, count, kernel


@kernel
def average_attention(layer: address, number: count, model: address, workspace: address, rows: count):
    """One step of decoder layer `number` on the workspace's x [rows, model_dim], from each row's parent's state."""
    weights, m, w = cell_at(layer, 0), model_at(model, 0), workspace_at(workspace, 0)
    row_bytes, offset = 4 * m.model_dim, state_offset(number, model, workspace)
    for row in range(rows):
        h = hypothesis_at(w.hypotheses, row)
        average(
            w.x + row * row_bytes,
            w.cells + offset + h.parent * row_bytes,
            np.float32(1.0) / np.float32(h.step + 1),
            m.model_dim,
            w.next_cells + offset + row * row_bytes,
            w.context + row * row_bytes,
        )
    if m.preprocess:
        norm = address_of(weights.residual.before)
        residual_layer_norm(model, norm, w.context, 0, rows, w.context, 0, w.row_scales)
    inside = feed_forward_at(address_of(weights.average), 0)
    if inside.inner.panels != 0:
        quantize(address_of(inside.inner), w.context, rows, w.quantized, w.row_scales)
    elif inside.outer.panels != 0:
        quantize(address_of(inside.outer), w.context, rows, w.quantized, w.row_scales)
    network(address_of(weights.average), m.average_activation, model, workspace, rows, w.context)
    if weights.forget.panels != 0:
        quantize(address_of(weights.forget), w.y, rows, w.quantized, w.row_scales)
        linear(address_of(weights.forget), w.y, w.quantized, w.row_scales, rows, w.gate, AFFINE)
        quantize(address_of(weights.input), w.x, rows, w.quantized, w.row_scales)
        linear(address_of(weights.input), w.x, w.quantized, w.row_scales, rows, w.context, AFFINE)
        weigh(w.context, w.x, w.gate, w.y, rows * m.model_dim, m.sigmoid_table)
    after_block(address_of(weights.residual), model, workspace, rows)
