"""Functions exp, log and sigmoid with the same bits on every processor; those of libm depend on the processor.

    exp        polynomial, relative error below 2e-7 on [-87, 88]
    exp2       the same of powers of two on [-126, 1]: half of the instructions, for sums over whole vocabularies
    log        of a float64, error below 1e-12
    sigmoid    lookup table with linear interpolation, error below 1.1e-6 (proof in `tables`)

Lookup tables for gates: Devlin 2017, "Sharp Models on Dull Hardware", section 4.4.
"""

import numpy as np

from cpunmt.kernels.tables import SIGMOID_RANGE, SIGMOID_STEPS
from cpunmt.simd.intrinsics import bits_float, float_bits
from cpunmt.simd.jit import inlined
from cpunmt.simd.vector import (
    bits_to_floats,
    broadcast,
    broadcast_int,
    float_bits_of,
    fma,
    interpolate,
    maximum,
    minimum,
    to_floats,
    to_ints,
)

_f = np.float32
LOG2_E = _f(1.4426950408889634)
_LN2_HIGH, _LN2_LOW = _f(0.693359375), _f(-2.12194440054690583e-4)  # the high part times n is exact
_LOWEST, _HIGHEST = _f(-87.0), _f(88.0)  # exp stays a normal float32
# exp(r) = 1 + r + r^2 (1/2! + r/3! + ... + r^5/7!) for |r| <= ln(2) / 2: the next term is below 1e-8
_C2, _C3, _C4, _C5, _C6, _C7 = _f(1 / 2), _f(1 / 6), _f(1 / 24), _f(1 / 120), _f(1 / 720), _f(1 / 5040)
_ONE = _f(1.0)
# Adding this to a number below 2**22 in magnitude rounds it to an integer (halves to even), held by its lowest bits.
_ROUNDING = _f(1.5 * 2**23)
# 2^f = 1 + f (P1 + f P2 + ...) for |f| <= 1/2, with the least largest relative error, 9.2e-8
_P1, _P2, _P3 = _f(0.6931470036506653), _f(0.24022242426872253), _f(0.05550733581185341)
_P4, _P5 = _f(0.009671512991189957), _f(0.001326472731307149)
_LEAST_EXPONENT = _f(-126.0)


@inlined
def exp(x):
    """Returns exp of an f32x16; arguments outside [-87, 88] are moved to the nearer end."""
    x = minimum(maximum(x, broadcast(_LOWEST)), broadcast(_HIGHEST))
    shifted = x * broadcast(LOG2_E) + broadcast(_ROUNDING)
    n = shifted - broadcast(_ROUNDING)
    r = fma(n, broadcast(-_LN2_LOW), fma(n, broadcast(-_LN2_HIGH), x))
    p = fma(r, broadcast(_C7), broadcast(_C6))
    p = fma(p, r, broadcast(_C5))
    p = fma(p, r, broadcast(_C4))
    p = fma(p, r, broadcast(_C3))
    p = fma(p, r, broadcast(_C2))
    p = fma(p * r, r, r) + broadcast(_ONE)
    return bits_to_floats(float_bits_of(p) + (float_bits_of(shifted) << broadcast_int(23)))  # p 2^n


@inlined
def exp2(x):
    """Returns 2^x of an f32x16 of at most 1; arguments below -126 are moved to -126. 2^0 is exactly 1."""
    x = maximum(x, broadcast(_LEAST_EXPONENT))
    shifted = x + broadcast(_ROUNDING)
    f = x - (shifted - broadcast(_ROUNDING))
    p = fma(f, broadcast(_P5), broadcast(_P4))
    p = fma(p, f, broadcast(_P3))
    p = fma(p, f, broadcast(_P2))
    p = fma(p, f, broadcast(_P1))
    p = fma(p, f, broadcast(_ONE))
    return bits_to_floats(float_bits_of(p) + (float_bits_of(shifted) << broadcast_int(23)))


@inlined
def log(x):
    """Returns the natural logarithm of a positive float64 that is not subnormal, as a float64."""
    bits = float_bits(x)
    exponent = (bits >> 52) - 1023
    mantissa = bits_float((bits & 0xFFFFFFFFFFFFF) | (1023 << 52))  # in [1, 2)
    if mantissa > 1.4142135623730951:
        mantissa = mantissa * 0.5
        exponent += 1
    # log m = 2 atanh(s), s = (m - 1) / (m + 1), |s| < 0.172: 2 (s + s^3/3 + s^5/5 + ...)
    s = (mantissa - 1.0) / (mantissa + 1.0)
    square = s * s
    series = 1.0 / 15.0
    series = series * square + 1.0 / 13.0
    series = series * square + 1.0 / 11.0
    series = series * square + 1.0 / 9.0
    series = series * square + 1.0 / 7.0
    series = series * square + 1.0 / 5.0
    series = series * square + 1.0 / 3.0
    return exponent * 0.6931471805599453 + 2.0 * (s + s * square * series)


_STEPS = _f(SIGMOID_STEPS)
_FIRST, _LAST = _f(SIGMOID_RANGE * SIGMOID_STEPS), _f(2 * SIGMOID_RANGE * SIGMOID_STEPS)
_LAST_ENTRY = _f(2 * SIGMOID_RANGE * SIGMOID_STEPS - 1)


@inlined
def sigmoid(x, table):
    """Returns the sigmoid of an f32x16; `table` is the address of `tables.sigmoid_table()`."""
    position = fma(x, broadcast(_STEPS), broadcast(_FIRST))
    position = minimum(maximum(position, broadcast(_f(0.0))), broadcast(_LAST))
    entry = to_ints(minimum(position, broadcast(_LAST_ENTRY)))  # truncation: the table entry below
    return interpolate(table, entry, position - to_floats(entry))


@inlined
def tanh(x, table):
    """Returns tanh of an f32x16, as 2 sigmoid(2 x) - 1 with an error below 2.3e-6; `table` as above."""
    two = broadcast(_f(2.0))
    return two * sigmoid(two * x, table) - broadcast(_ONE)
