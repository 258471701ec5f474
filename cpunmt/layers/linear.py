"""Affine maps, each in its own scheme.

An activation is a float row. If its reader multiplies integers, the row is also quantized, while it is in the cache
(`kernels/layer_norm`, `quantize` below), and stored beside the floats.
"""

from cpunmt.kernels.matmul.float_matmul import float_linear
from cpunmt.kernels.matmul.int8_matmul import int8_linear
from cpunmt.kernels.matmul.int16_matmul import int16_linear
from cpunmt.kernels.matmul.quantize_rows import quantize_as
from cpunmt.kernels.matmul.sparse_matmul import sparse_linear
from cpunmt.kernels.records import INT8, INT16, LINEAR, SCRATCH
from cpunmt.simd.intrinsics import address_of, at
from cpunmt.simd.jit import address, count, kernel, real
from cpunmt.simd.tile import PLANES


@kernel
def linear(
    weights: address,
    x: address,
    quantized: address,
    row_scales: address,
    rows: count,
    out: address,
    mode: count,
    room: address,
):
    """Computes out = x W + b (mode AFFINE) or its ReLU (mode RELU) of float32 x [rows, depth] or its quantized form.

    `room` is that of `int8_linear`.
    """
    scheme = at(LINEAR, weights, 0).scheme
    if scheme == INT8:
        int8_linear(weights, quantized, row_scales, rows, out, mode, room)
    elif scheme == INT16:
        int16_linear(weights, quantized, row_scales, rows, out, mode)
    else:
        float_linear(weights, x, rows, out, mode)


@kernel
def quantize(weights: address, x: address, rows: count, quantized: address, row_scales: address):
    """Quantizes float32 x [rows, depth] for a LINEAR record, if it multiplies integers."""
    reader = at(LINEAR, weights, 0)
    quantize_as(reader.scheme, reader.multiplier, x, rows, reader.depth, quantized, row_scales)


@kernel
def linear_of(weights: address, x: address, rows: count, scratch: address, out: address, mode: count):
    """Computes the same from float32 x [rows, depth] alone, which it quantizes if needed."""
    reader, w = at(LINEAR, weights, 0), at(SCRATCH, scratch, 0)
    if reader.by_depth != 0:
        sparse_linear(weights, x, rows, address_of(w.lists), w.quantized, w.row_scales, out, mode)
    else:
        quantize(weights, x, rows, w.quantized, w.row_scales)
        linear(weights, x, w.quantized, w.row_scales, rows, out, mode, w.room)


@kernel
def row_bytes(scheme: count, depth: count) -> count:
    """Returns the bytes of a row of `depth` activations that is quantized for a reader of that scheme."""
    return 2 * depth if scheme == INT16 else PLANES * depth


@kernel
def quantize_again(
    weights: address,
    scheme: count,
    multiplier: real,
    x: address,
    rows: count,
    quantized: address,
    row_scales: address,
):
    """Quantizes x again if this reader's scheme and multiplier differ from those of the first quantization."""
    reader = at(LINEAR, weights, 0)
    if reader.scheme != scheme or reader.multiplier != multiplier:
        quantize(weights, x, rows, quantized, row_scales)
