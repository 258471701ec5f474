"""Quantized rows: the same integers and scales as the reference, and their guarantees."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.definitions.matmul import quantize_rows16_reference, quantize_rows_reference, stored_bytes
from tests.kernels.rows import DEPTHS, MISALIGNED, ROWS, SEEDS, check_independent
from tests.support.float_steps import UNIT, same_bits
from tests.support.guarded import Guards

reaches = st.sampled_from([511, 1023, 4095, 32767])
ALL_FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)
TINY_RANGE = 255 / 3e38  # the inverse of a scale would be too large


def operand(guard, x):
    """Returns the kernel's input; it makes rows finite in place, and changes nothing else."""
    return guard.copy(x) if np.isfinite(x).all() else x.copy()


def quantize(program, x, misaligned=0, multiplier=0.0):
    """Returns (bytes [rows, planes * depth], scales and shifts [rows, 2]) of the kernel; checks the guards."""
    guard = Guards(misaligned)
    expected_bytes = stored_bytes(np.zeros(x.shape, np.int8))
    q, scales = guard.empty(expected_bytes.shape, np.uint8), guard.empty((len(x), 2), np.float32)
    program.quantize_rows(operand(guard, x), *x.shape, multiplier, q, scales)
    guard.check()
    return q.copy(), scales.copy()


def check(program, x, misaligned=0, multiplier=0.0):
    """Compares with the reference; returns (int8 [rows, depth], scales and shifts [rows, 2])."""
    q, scales = quantize(program, x, misaligned, multiplier)
    expected, *expected_scales = quantize_rows_reference(x, multiplier)
    assert expected.dtype == np.int8 and all(vector.dtype == np.float32 for vector in expected_scales)
    assert same_bits(scales, np.stack(expected_scales, axis=1))
    assert np.array_equal(q, stored_bytes(expected))
    return expected, scales


def check16(program, x, reach, misaligned=0):
    """Compares with the reference; returns (int16 [rows, depth], scales [rows])."""
    guard = Guards(misaligned)
    q, scales = guard.empty(x.shape, np.int16), guard.empty((len(x), 2), np.float32)
    program.quantize_rows16(operand(guard, x), *x.shape, reach, q, scales)
    guard.check()
    expected, expected_scales = quantize_rows16_reference(x, reach)
    assert expected.dtype == np.int16 and expected_scales.dtype == np.float32
    assert np.array_equal(q, expected) and same_bits(scales[:, 0].copy(), expected_scales) and not scales[:, 1].any()
    assert np.abs(expected.astype(int)).max() <= reach
    return expected, expected_scales


def real(q, scales):
    """Returns the real values of quantized rows, float64."""
    return q * scales[:, :1].astype(np.float64) + scales[:, 1:]


def random_rows(seed, rows, depth, exponent, spread=0.0):
    """Draws normal numbers of about 2**exponent, `spread` deviations from 0."""
    generator = np.random.default_rng(seed)
    return np.ldexp(generator.standard_normal((rows, depth)) + spread, exponent).astype(np.float32)


@given(SEEDS, ROWS, DEPTHS, st.integers(-140, 120), st.sampled_from([0.0, 3.0, -9.0]), MISALIGNED)
@settings(deadline=None)
def test_equals_the_reference(program, seed, rows, depth, exponent, spread, misaligned):
    """Covers all sizes of numbers, from denormals up to the largest floats."""
    check(program, random_rows(seed, rows, depth, exponent, spread), misaligned)


@given(SEEDS, ROWS, DEPTHS, st.sampled_from([1e-20, 0.7, 31.0, 1e9]), st.integers(-30, 30))
@settings(deadline=None)
def test_a_multiplier_for_all_rows_clips(program, seed, rows, depth, multiplier, exponent):
    x = random_rows(seed, rows, depth, exponent)
    q, scales = check(program, x, multiplier=multiplier)
    assert np.abs(q.astype(int)).max() <= 127 and (scales == [1, 0]).all()


@given(st.lists(st.floats(width=32), min_size=16, max_size=16), reaches, st.sampled_from([0.0, 0.7, 1e9]))
@example([np.inf, -np.inf, np.nan, *[0.0] * 13], 511, 0.0)
@example([np.nan] * 16, 511, 0.0)
@example([-np.inf] * 16, 4095, 0.7)
def test_any_row_equals_the_reference(program, row, reach, multiplier):
    """The bits of a NaN depend on the processor, so they must not become integers."""
    x = np.array([row], np.float32)
    _, scales = check(program, x, multiplier=multiplier)
    assert np.isfinite(scales).all()
    check16(program, x, reach)


@given(SEEDS, DEPTHS, st.integers(-100, 100), st.sampled_from([0.0, 0.5, -4.0]))
@settings(deadline=None)
def test_no_value_is_off_by_more_than_half_a_step(program, seed, depth, exponent, spread):
    """The range is used: the least number has the first step or the largest has the last, to within one."""
    x = random_rows(seed, 5, depth, exponent, spread)
    q, scales = check(program, x)
    steps = q.max(axis=1).astype(int) - q.min(axis=1)
    assert (steps >= 254)[(x.min(axis=1) < 0) & (x.max(axis=1) > 0)].all()
    # the scale, its inverse, a product and the shift are rounded
    assert (np.abs(x - real(q, scales)) <= scales[:, :1] * (0.5 + 256 * 4 * UNIT)).all()


@given(SEEDS, DEPTHS, st.integers(-100, 100), st.booleans())
@settings(deadline=None)
def test_rows_of_one_sign_have_all_steps_on_that_side(program, seed, depth, exponent, negative):
    x = np.abs(random_rows(seed, 5, depth, exponent)) * np.float32(-1 if negative else 1)
    q, scales = check(program, x)
    assert (q.min(axis=1) == -128).all() if negative else (q.max(axis=1) == 127).all()
    zero = 127 if negative else -128
    assert (np.float32(zero) * scales[:, 0] + scales[:, 1] == 0).all()


@given(SEEDS, DEPTHS, st.integers(-100, 100), st.sampled_from([0.0, 0.5, -4.0]))
@settings(deadline=None)
def test_zero_stays_zero(program, seed, depth, exponent, spread):
    """Exactly: the shift equals its step times the scale, rounded."""
    x = random_rows(seed, 5, depth, exponent, spread)
    x[:, seed % depth] = 0
    q, scales = check(program, x)
    assert (q[:, seed % depth].astype(np.float32) * scales[:, 0] + scales[:, 1] == 0).all()


@given(st.integers(0, 254), st.floats(0.499, 0.501), st.integers(-60, 60))
@example(101, 0.5, 0)
@settings(deadline=None)
def test_ends_that_both_round_up_are_clipped(program, whole, part, exponent):
    """If zero is between two steps, so is the largest: 256 steps are not enough for both."""
    x = np.zeros((1, 16), np.float32)
    x[0, :2] = -(whole + part), 255 - (whole + part)
    q, _ = check(program, np.ldexp(x, exponent))
    assert q[0, 1] == 127 or q[0, 0] == -128


@given(SEEDS, st.integers(-100, 100), reaches)
@settings(deadline=None)
def test_numbers_between_two_integers_equal_the_reference(program, seed, exponent, reach):
    """As near to a half step as float32 allows: the last bit of each product decides."""
    generator = np.random.default_rng(seed)
    size = np.ldexp(generator.uniform(1, 2, (8, 1)), exponent)
    zero = generator.integers(0, 256, (8, 1))
    for steps, low, high in ((255, -zero, 255 - zero), (2 * reach, -reach, reach)):
        numbers = generator.integers(low, high, (8, 64)) + 0.5
        numbers[:, :1], numbers[:, 1:2] = low, high
        x = (numbers * size / steps).astype(np.float32)
        x[:, 2:] += np.spacing(x[:, 2:]) * generator.integers(-1, 2, (8, 62)).astype(np.float32)
        check(program, x) if steps == 255 else check16(program, x, reach)


def test_halves_round_to_even(program):
    """To the even one of all 256 steps; to the even integer if all rows share one scale."""
    x = np.zeros((1, 16), np.float32)
    x[0, :8] = [128 - 2.0**-12, -127, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5]
    q, scales = check(program, x)
    assert scales.tolist() == [[1, 1]] and (q[0, :8].astype(int) + 1).tolist() == [128, -127, 1, 1, 3, -1, -1, -3]
    q, _ = check(program, x, multiplier=1.0)
    assert q[0, :8].tolist() == [127, -127, 0, 2, 2, 0, -2, -2]
    x[0, 0] = 1023
    q, scales = check16(program, x, 1023)
    assert scales[0] == 1 and q[0, 2:8].tolist() == [0, 2, 2, 0, -2, -2]


@pytest.mark.parametrize("value", [0.0, -0.0, 1e-45, -1e-40, 8e-37, 9e-37, 3.4028235e38, -3.4028235e38])
def test_constant_rows(program, value):
    """Zeros, rows too small for a scale, the largest floats."""
    q, scales = check(program, np.full((2, 32), value, np.float32))
    if abs(value) < TINY_RANGE:
        assert not q.any() and (scales == [1, 0]).all()
    else:
        assert (q == (127 if value > 0 else -128)).all() and np.isfinite(scales).all()
        assert np.allclose(real(q, scales), value, rtol=1e-5)


@pytest.mark.parametrize("reach", [511, 4095])
@pytest.mark.parametrize("value", [0.0, 1e-45, -1e-40, 1.6e-36, 1.4e-35, 3.4028235e38, -3.4028235e38])
def test_constant_rows_of_16_bits(program, value, reach):
    q, scales = check16(program, np.full((2, 32), value, np.float32), reach)
    if abs(value) < reach / 3e38:
        assert not q.any() and (scales == 1).all()
    else:
        assert (q == reach * np.sign(value)).all()


@given(SEEDS, ROWS, DEPTHS, st.integers(-140, 120), reaches, MISALIGNED)
@settings(deadline=None)
def test_16_bits_equal_the_reference(program, seed, rows, depth, exponent, reach, misaligned):
    check16(program, random_rows(seed, rows, depth, exponent), reach, misaligned)


@given(SEEDS, DEPTHS, st.integers(-100, 100), reaches)
@settings(deadline=None)
def test_the_largest_of_16_bits_becomes_the_reach(program, seed, depth, exponent, reach):
    x = random_rows(seed, 5, depth, exponent)
    q, scales = check16(program, x, reach)
    assert (np.abs(q.astype(int)).max(axis=1) == reach).all()
    error = np.abs(x - q * scales[:, None].astype(np.float64))
    assert (error <= scales[:, None] * (0.5 + reach * 4 * UNIT)).all()


def test_one_row_writes_its_scale_and_shift(program):
    x = np.linspace(-2, 1, 48, dtype=np.float32)
    guard = Guards(8)
    q, scale = guard.empty(stored_bytes(np.zeros((1, 48), np.int8)).shape, np.uint8), guard.empty(2, np.float32)
    program.quantize_row(guard.copy(x), 48, 0.0, q, scale)
    guard.check()
    expected, scales, shifts = quantize_rows_reference(x[None])
    assert scale.tolist() == [scales[0], shifts[0]] and np.array_equal(q, stored_bytes(expected))


@given(SEEDS, st.integers(2, 70))
@settings(deadline=None)
def test_a_row_does_not_depend_on_the_others(program, seed, rows):
    generator = np.random.default_rng(seed)
    x = (generator.standard_normal((rows, 32)) * generator.lognormal(0, 5, (rows, 1))).astype(np.float32)
    check_independent(seed, rows, lambda part: [*quantize(program, x[part]), *check16(program, x[part], 2047)])
