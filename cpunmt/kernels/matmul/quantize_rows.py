"""Quantization of activations while the floats are still in the L1 cache; each row has its own scale.

int8, 256 steps from the least to the largest, with 0.0 among them (x is about scale * q + shift):

    low[r], high[r] = min(0, min_k x[r, k]), max(0, max_k x[r, k])
    scale[r]        = (high - low) / STEPS               1 for a row of zeros
    zero[r]         = round(-low / scale)                in [0, 255]: the step of 0.0
    q[r, k]         = round(x / scale + zero) - 128
    shift[r]        = (128 - zero) * scale

int16, symmetric: shift = 0 and

    scale[r]        = max_k |x[r, k]| / reach            1 for a row of zeros
    q[r, k]         = round(x / scale)                   in [-reach, reach]

All results are rounded once, halves to even; 1 / scale is a float32. A scale never depends on another row, so a
translation does not depend on its batch. With a multiplier that was found beforehand for all rows, int8 is symmetric:
q = round(x * multiplier), the product rounded too, clipped to [-127, 127]. Then scale = 1 and shift = 0, since the
columns' scales include the rest (see schemes.int8.static_scales). The instruction set decides how an int8 is stored in
bytes: OFFSET and PLANES of `simd/tile`.

In a row that is not finite, infinity becomes the largest float32 and NaN the least, because the bits of a NaN depend on
the processor. A model whose numbers leave float32 is useless, but its output is the same on every processor.
"""

import numpy as np

from cpunmt.kernels.records import INT8, INT16
from cpunmt.simd.intrinsics import store_f32
from cpunmt.simd.jit import address, count, inlined, kernel, real
from cpunmt.simd.tile import OFFSET, PLANES
from cpunmt.simd.vector import (
    absolute,
    bits_to_floats,
    broadcast,
    broadcast_int,
    first_lane,
    float_bits_of,
    fma,
    largest_int,
    largest_unsigned,
    load,
    maximum,
    maximum_ints,
    maximum_unsigned,
    minimum,
    store,
    store_bytes,
    store_magnitudes,
    store_words,
)

LARGEST = np.float32(127.0)
ZERO, ONE, HALF = np.float32(0.0), np.float32(1.0), np.float32(0.5)
# Slightly below 255, since 256 steps would not suffice if -low / scale and high / scale are both rounded up.
STEPS = np.float32(255 - 2.0**-12)
MIDDLE = np.float32(128.0)  # the step of q = 0
# A float32 of this size has no bits for fractions: adding it rounds, halves to even, and leaves the integer in the
# low bits of the sum.
ROUNDING = np.float32(3 << 22)
LARGEST_INVERSE = np.float32(3.0e38)  # of a scale: a row that needs a larger one is zero in float32
LARGEST_FLOAT = np.finfo(np.float32).max
INFINITY, MINUS_INFINITY, MINUS_ZERO = 0x7F800000, 0xFF800000, 0x80000000  # bits, read without a sign


@inlined
def _store(q, depth, k, rounded):
    """Stores 16 integers: the low bits of floats to which ROUNDING + OFFSET was added."""
    bits = float_bits_of(rounded)
    store_bytes(q, k, bits)
    if PLANES == 2:
        store_magnitudes(q, depth + k, bits)


@inlined
def _range(x, depth):
    """Returns the bits of (min(0, min x), max(0, max x)) of float32 [depth], in four independent chains.

    Floats of one sign are ordered like their bits, infinity and then NaN last, so these are found if x has any.
    """
    low, high = broadcast_int(MINUS_ZERO), broadcast_int(0)
    low0, low1, low2, low3 = low, low, low, low
    high0, high1, high2, high3 = high, high, high, high
    whole = depth // 64 * 64
    for k in range(0, whole, 64):
        x0, x1 = float_bits_of(load(x, k)), float_bits_of(load(x, k + 16))
        x2, x3 = float_bits_of(load(x, k + 32)), float_bits_of(load(x, k + 48))
        low0, low1 = maximum_unsigned(x0, low0), maximum_unsigned(x1, low1)
        low2, low3 = maximum_unsigned(x2, low2), maximum_unsigned(x3, low3)
        high0, high1 = maximum_ints(x0, high0), maximum_ints(x1, high1)
        high2, high3 = maximum_ints(x2, high2), maximum_ints(x3, high3)
    for k in range(whole, depth, 16):
        x0 = float_bits_of(load(x, k))
        low0, high0 = maximum_unsigned(x0, low0), maximum_ints(x0, high0)
    low = maximum_unsigned(maximum_unsigned(low0, low1), maximum_unsigned(low2, low3))
    high = maximum_ints(maximum_ints(high0, high1), maximum_ints(high2, high3))
    return largest_unsigned(low), largest_int(high)


@inlined
def _absolute_maximum(x, depth):
    """Returns the bits of max |x| of float32 [depth], likewise."""
    m0, m1, m2, m3 = broadcast_int(0), broadcast_int(0), broadcast_int(0), broadcast_int(0)
    whole = depth // 64 * 64
    for k in range(0, whole, 64):
        m0 = maximum_ints(float_bits_of(absolute(load(x, k))), m0)
        m1 = maximum_ints(float_bits_of(absolute(load(x, k + 16))), m1)
        m2 = maximum_ints(float_bits_of(absolute(load(x, k + 32))), m2)
        m3 = maximum_ints(float_bits_of(absolute(load(x, k + 48))), m3)
    for k in range(whole, depth, 16):
        m0 = maximum_ints(float_bits_of(absolute(load(x, k))), m0)
    return largest_int(maximum_ints(maximum_ints(m0, m1), maximum_ints(m2, m3)))


@inlined
def float_of(bits):
    return first_lane(bits_to_floats(broadcast_int(bits)))


@kernel
def make_finite(x: address, depth: count):
    """Replaces infinity and NaN in float32 [depth] by finite numbers."""
    for k in range(0, depth, 16):
        store(x, k, minimum(maximum(load(x, k), broadcast(-LARGEST_FLOAT)), broadcast(LARGEST_FLOAT)))


@inlined
def steps_of(low_bits, high_bits):
    """Returns (scale, its inverse, number added to the step of 0.0) for a row of that range."""
    half = float_of(high_bits) * HALF - float_of(low_bits) * HALF  # of the range, which may be too large for a float32
    if half < STEPS * HALF / LARGEST_INVERSE:
        return ONE, ZERO, MIDDLE
    return half / (STEPS * HALF), STEPS * HALF / half, ZERO


@kernel
def round_row(x: address, depth: count, low_bits: count, high_bits: count, q: address, row_scale: address):
    """Quantizes a row of known range, like `quantize_row`; the range is the bits of (min(0, min x), max(0, max x))."""
    scale, inverse, middle = steps_of(low_bits, high_bits)
    # u = round(x / scale + zero): the least number has u >= 0, for zero is at least -low / scale - 1/2, and 1/2 is
    # rounded to the even 0; the largest has u <= 255, for it is at most STEPS + 1/2
    factor = broadcast(inverse)
    zero = fma(broadcast(-float_of(low_bits)), factor, broadcast(ROUNDING + middle))
    bias = zero - broadcast(MIDDLE - np.float32(OFFSET))
    for k in range(0, depth, 16):
        _store(q, depth, k, fma(load(x, k), factor, bias))
    store_f32(row_scale, 0, scale)
    store_f32(row_scale, 1, (MIDDLE + ROUNDING - first_lane(zero)) * scale)


@kernel
def quantize_row(x: address, depth: count, multiplier: real, q: address, row_scale: address):
    """Quantizes float32 [depth] (a multiple of 16) into bytes [PLANES * depth]; scale and shift go to `row_scale`.

    With `multiplier` 0 the row has its own scale.
    """
    if multiplier > ZERO:
        factor, bias = broadcast(multiplier), broadcast(ROUNDING + np.float32(OFFSET))
        for k in range(0, depth, 16):
            value = minimum(maximum(load(x, k) * factor, broadcast(-LARGEST)), broadcast(LARGEST))
            _store(q, depth, k, value + bias)
        store_f32(row_scale, 0, ONE)
        store_f32(row_scale, 1, ZERO)
        return
    low_bits, high_bits = _range(x, depth)
    if low_bits >= MINUS_INFINITY or high_bits >= INFINITY:
        make_finite(x, depth)
        low_bits, high_bits = _range(x, depth)
    round_row(x, depth, low_bits, high_bits, q, row_scale)


@kernel
def quantize_rows(x: address, rows: count, depth: count, multiplier: real, q: address, row_scales: address):
    """Quantizes float32 [rows, depth] into bytes [rows, PLANES * depth], and float32 [rows, 2]: scale and shift."""
    for row in range(rows):
        quantize_row(x + 4 * row * depth, depth, multiplier, q + row * PLANES * depth, row_scales + 8 * row)


@kernel
def quantize_row16(x: address, depth: count, reach: real, q: address, row_scale: address):
    """Quantizes float32 [depth] (a multiple of 16) into int16 [depth]; scale and shift go to `row_scale`."""
    bits = _absolute_maximum(x, depth)
    if bits >= INFINITY:
        make_finite(x, depth)
        bits = _absolute_maximum(x, depth)
    most = float_of(bits)
    scale, inverse = most / reach, reach / most
    if most < reach / LARGEST_INVERSE:
        scale, inverse = ONE, ZERO
    factor, bias = broadcast(inverse), broadcast(ROUNDING)
    for k in range(0, depth, 16):
        store_words(q, k, float_bits_of(fma(load(x, k), factor, bias)))
    store_f32(row_scale, 0, scale)
    store_f32(row_scale, 1, ZERO)


@kernel
def quantize_rows16(x: address, rows: count, depth: count, reach: real, q: address, row_scales: address):
    """Quantizes float32 [rows, depth] into int16 [rows, depth], and float32 [rows, 2]: scale and shift."""
    for row in range(rows):
        quantize_row16(x + 4 * row * depth, depth, reach, q + 2 * row * depth, row_scales + 8 * row)


@kernel
def quantize_as(
    scheme: count, multiplier: real, x: address, rows: count, depth: count, quantized: address, row_scales: address
):
    """Quantizes float32 x [rows, depth] for a reader of the given scheme and multiplier, if it reads integers."""
    if scheme == INT8:
        quantize_rows(x, rows, depth, multiplier, quantized, row_scales)
    elif scheme == INT16:
        quantize_rows16(x, rows, depth, multiplier, quantized, row_scales)
