"""Position-wise feed-forward network: activation(x W1 + b1) W2 + b2, or deeper, or gated.

Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, section 3.3. A gated one is (activation(x W1 + b1) * (x V + c))
W2 + b2: Shazeer 2020, https://arxiv.org/abs/2002.05202.
"""

from cpunmt.kernels.copying import copy_floats
from cpunmt.kernels.gates import RELU as RELU_FUNCTION
from cpunmt.kernels.gates import activate, gate_rows
from cpunmt.kernels.matmul.int8_matmul import AFFINE, RELU
from cpunmt.kernels.records import LINEAR, SCRATCH, SETTINGS
from cpunmt.layers.linear import linear, linear_of
from cpunmt.layers.records import FEED_FORWARD
from cpunmt.layers.residual import after_block, before_block
from cpunmt.simd.intrinsics import address_of, at
from cpunmt.simd.jit import address, count, kernel

LINEAR_BYTES = LINEAR.itemsize


@kernel
def activated(
    weights: address,
    function: count,
    settings: address,
    scratch: address,
    rows: count,
    x: address,
    out: address,
    quantized: count,
):
    """Computes out = function(x W + b); `quantized`: x is already quantized, if the product needs it."""
    s, w = at(SETTINGS, settings, 0), at(SCRATCH, scratch, 0)
    mode = RELU if function == RELU_FUNCTION else AFFINE
    if quantized:
        linear(weights, x, w.quantized, w.row_scales, rows, out, mode, w.room)
    else:
        linear_of(weights, x, rows, scratch, out, mode)
    if function != RELU_FUNCTION:
        activate(out, rows * 16 * at(LINEAR, weights, 0).panels, function, s.sigmoid_table)


@kernel
def network(layer: address, function: count, settings: address, scratch: address, rows: count, x: address):
    """Writes y, the affine maps of a FEED_FORWARD record of float32 x [rows, model_dim], or of its quantized form."""
    f, w = at(FEED_FORWARD, layer, 0), at(SCRATCH, scratch, 0)
    if f.inner.panels == 0:
        hidden = x
    elif f.gated:
        hidden = w.wide
        linear(address_of(f.inner), x, w.quantized, w.row_scales, rows, hidden, AFFINE, w.room)
        gate_rows(hidden, rows, 8 * f.inner.panels, function, at(SETTINGS, settings, 0).sigmoid_table)
    else:
        hidden = w.wide
        activated(address_of(f.inner), function, settings, scratch, rows, x, hidden, 1)
        for i in range(f.middles):
            weights, target = f.middle + i * LINEAR_BYTES, w.wider if hidden == w.wide else w.wide
            activated(weights, function, settings, scratch, rows, hidden, target, 0)
            hidden = target
    if f.outer.panels == 0:
        copy_floats(hidden, rows * at(SETTINGS, settings, 0).model_dim, w.y)
    elif f.inner.panels == 0:
        linear(address_of(f.outer), hidden, w.quantized, w.row_scales, rows, w.y, AFFINE, w.room)
    else:
        linear_of(address_of(f.outer), hidden, rows, scratch, w.y, AFFINE)


@kernel
def feed_forward(layer: address, settings: address, scratch: address, rows: count):
    """Runs the block of a FEED_FORWARD record on x [rows, model_dim]."""
    residual = address_of(at(FEED_FORWARD, layer, 0).residual)
    before_block(residual, settings, scratch, rows)
    network(layer, at(SETTINGS, settings, 0).activation, settings, scratch, rows, at(SCRATCH, scratch, 0).input)
    after_block(residual, settings, scratch, rows)
