"""Average attention: the mean of all inputs so far, a small network, and two gates.

    c_t = c_{t-1} + x_t,   y = network(c_t / t),   y_t = sigmoid(W_i x_t + b_i) * x_t + sigmoid(W_f y + b_f) * y

Zhang et al. 2018, https://arxiv.org/abs/1805.00631, section 3. State: c.
"""

import numpy as np

from cpunmt.architectures.records import ROW
from cpunmt.architectures.transformer.cells.recurrent import layer_states
from cpunmt.architectures.transformer.records import CELL, MEMORY, TRANSFORMER
from cpunmt.kernels.gates import average, weigh
from cpunmt.kernels.layer_norm import residual_layer_norm
from cpunmt.kernels.matmul.int8_matmul import AFFINE
from cpunmt.kernels.records import SCRATCH, SETTINGS
from cpunmt.layers.feed_forward import network as feed_forward_network
from cpunmt.layers.linear import linear_of, quantize
from cpunmt.layers.records import FEED_FORWARD
from cpunmt.layers.residual import after_block
from cpunmt.simd.intrinsics import address_of, at
from cpunmt.simd.jit import address, count, kernel


@kernel
def average_attention_cell(layer: address, number: count, network: address, memory: address, rows: address, n: count):
    """Computes one step of decoder layer `number` on x, for ROW records [n]."""
    weights, w = at(CELL, layer, 0), at(MEMORY, memory, 0)
    settings, scratch = address_of(at(TRANSFORMER, network, 0).settings), address_of(w.scratch)
    t, s = at(SETTINGS, settings, 0), at(SCRATCH, scratch, 0)
    depth, first = t.model_dim, layer_states(number, memory)
    for i in range(n):
        row = at(ROW, rows, i)
        average(
            s.x + 4 * i * depth,
            w.states + first + row.parent * w.state_bytes,
            np.float32(1.0) / np.float32(row.step + 1),
            depth,
            w.next_states + first + i * w.state_bytes,
            s.context + 4 * i * depth,
        )
    if t.preprocess:
        norm = address_of(weights.residual.before)
        residual_layer_norm(settings, norm, s.context, 0, n, s.context, 0, s.row_scales)
    inside = at(FEED_FORWARD, address_of(weights.average), 0)
    if inside.inner.panels != 0:
        quantize(address_of(inside.inner), s.context, n, s.quantized, s.row_scales)
    elif inside.outer.panels != 0:
        quantize(address_of(inside.outer), s.context, n, s.quantized, s.row_scales)
    function = at(TRANSFORMER, network, 0).average_activation
    feed_forward_network(address_of(weights.average), function, settings, scratch, n, s.context)
    if weights.forget.panels != 0:
        linear_of(address_of(weights.forget), s.y, n, scratch, s.gate, AFFINE)
        linear_of(address_of(weights.input), s.x, n, scratch, s.context, AFFINE)
        weigh(s.context, s.x, s.gate, s.y, n * depth, t.sigmoid_table)
    after_block(address_of(weights.residual), settings, scratch, n)
