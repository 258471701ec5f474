"""Affine maps, each in its own scheme.

An activation is a float row. If its reader multiplies integers, the row is also quantized, while it is in the cache
(`kernels/layer_norm`, `quantize` below), and stored beside the floats.
"""

import numpy as np

from cpunmt.kernels.matmul.float_matmul import float_linear
from cpunmt.kernels.matmul.int8_matmul import int8_linear
from cpunmt.kernels.matmul.int16_matmul import int16_linear
from cpunmt.kernels.matmul.quantize_rows import quantize_as
from cpunmt.kernels.matmul.sparse_matmul import sparse_linear
from cpunmt.kernels.records import INT8, INT16, LINEAR, SCRATCH, WEIGHT_BYTES
from cpunmt.simd.intrinsics import address_of, at, lesser
from cpunmt.simd.jit import address, count, kernel, real
from cpunmt.simd.tile import PLANES

_WEIGHT_BYTES = np.array(WEIGHT_BYTES)


@kernel
def linear(
    weights: address,
    x: address,
    quantized: address,
    row_scales: address,
    rows: count,
    out: address,
    mode: count,
):
    """Computes out = x W + b (mode AFFINE) or its ReLU (mode RELU) of float32 x [rows, depth] or its quantized form."""
    scheme = at(LINEAR, weights, 0).scheme
    if scheme == INT8:
        int8_linear(weights, quantized, row_scales, rows, out, mode)
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
        linear(weights, x, w.quantized, w.row_scales, rows, out, mode)


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


@kernel
def cut_panels(weights: address, first: count, panels: count, part: address) -> count:
    """Makes `part` a LINEAR record of at most `panels` panels of a layer, from `first` on; returns their number."""
    w, p = at(LINEAR, weights, 0), at(LINEAR, part, 0)
    bytes_before = 16 * first * w.depth * _WEIGHT_BYTES[w.scheme]
    p.scheme, p.depth, p.panels = w.scheme, w.depth, lesser(panels, w.panels - first)
    p.weights, p.codes, p.levels = w.weights + bytes_before, 0, w.levels
    if w.codes != 0:
        p.codes = w.codes + bytes_before // 2
    p.scales, p.start = w.scales + 64 * first, w.start + 64 * first
    p.totals, p.bias = w.totals + 64 * first, w.bias + 64 * first
    p.by_depth, p.next, p.next_bytes, p.sparse_start = 0, 0, 0, 0
    p.multiplier = w.multiplier
    return p.panels
