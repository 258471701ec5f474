"""Affine maps, in the scheme that the model's weights are stored in.

An activation is a float row; beside it, in the int8 scheme, stands its quantized form. Whoever makes a row
quantizes it while it is hot (`kernels/layer_norm`, `quantize` below); a product reads the form its scheme wants.
"""

from cpunmt.jit import address, count, kernel
from cpunmt.kernels.float_matmul import float_linear
from cpunmt.kernels.int8_matmul import int8_linear
from cpunmt.kernels.quantize_rows import quantize_rows
from cpunmt.kernels.reading import linear_at
from cpunmt.records import INT8


@kernel
def linear(
    weights: address,
    x: address,
    quantized: address,
    row_scales: address,
    rows: count,
    out: address,
    mode: count,
    signed: count,
):
    """out = x W + b (mode AFFINE) or its ReLU (mode RELU) for float32 x [rows, depth] or its quantized form."""
    if linear_at(weights, 0).scheme == INT8:
        int8_linear(weights, quantized, row_scales, rows, out, mode, signed)
    else:
        float_linear(weights, x, rows, out, mode)


@kernel
def quantize(weights: address, x: address, rows: count, quantized: address, row_scales: address):
    """Quantize float32 x [rows, depth] for a LINEAR record, if it multiplies integers."""
    consumer = linear_at(weights, 0)
    if consumer.scheme == INT8:
        quantize_rows(x, rows, consumer.depth, consumer.multiplier, quantized, row_scales)
