"""Quantized rows: the same integers and scales as the reference, and what they promise."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.kernels.quantize_rows import quantize_rows_reference, stored_bytes
from tests.float_steps import UNIT, same_bits
from tests.guarded import Guards

rows = st.integers(1, 70)
depths = st.integers(1, 12).map(lambda n: 16 * n)
seeds = st.integers(0, 2**32 - 1)
ALL_FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)


def quantize(program, x, misaligned=0, multiplier=0.0):
    """(bytes [rows, planes * depth], scales [rows]) of the kernel; the guards are checked."""
    guard = Guards(misaligned)
    expected_bytes = stored_bytes(np.zeros(x.shape, np.int8))
    q, scales = guard.empty(expected_bytes.shape, np.uint8), guard.empty(len(x), np.float32)
    program.quantize_rows(guard.copy(x), *x.shape, multiplier, q, scales)
    guard.check()
    return q.copy(), scales.copy()


def check(program, x, misaligned=0, multiplier=0.0):
    q, scales = quantize(program, x, misaligned, multiplier)
    expected, expected_scales = quantize_rows_reference(x, multiplier)
    assert same_bits(scales, expected_scales)
    assert np.array_equal(q, stored_bytes(expected))
    return expected, scales


@given(seeds, rows, depths, st.integers(-140, 120), st.sampled_from([0, 4, 20]))
@settings(deadline=None)
def test_equals_the_reference(program, seed, rows, depth, exponent, misaligned):
    """Rows of any size of numbers: exponents down to where all are denormal, up to the largest floats."""
    x = np.random.default_rng(seed).standard_normal((rows, depth))
    q, _ = check(program, np.ldexp(x, exponent).astype(np.float32), misaligned)
    assert np.abs(q.astype(int)).max() <= 127


@given(seeds, rows, depths, st.sampled_from([1e-20, 0.7, 31.0, 1e9]), st.integers(-30, 30))
@settings(deadline=None)
def test_a_multiplier_for_all_rows_clips(program, seed, rows, depth, multiplier, exponent):
    x = np.ldexp(np.random.default_rng(seed).standard_normal((rows, depth)), exponent).astype(np.float32)
    q, scales = check(program, x, multiplier=multiplier)
    assert np.abs(q.astype(int)).max() <= 127 and (scales == 1).all()


@given(st.lists(ALL_FLOATS, min_size=16, max_size=16))
@settings(deadline=None)
def test_any_finite_row_equals_the_reference(program, row):
    check(program, np.array([row], np.float32))


@given(seeds, depths, st.integers(-100, 100))
@settings(deadline=None)
def test_the_largest_becomes_127_and_no_value_is_off_by_more_than_half_a_step(program, seed, depth, exponent):
    x = np.ldexp(np.random.default_rng(seed).standard_normal((5, depth)), exponent).astype(np.float32)
    q, scales = check(program, x)
    assert (np.abs(q.astype(int)).max(axis=1) == 127).all()
    error = np.abs(x.astype(np.float64) - q * scales[:, None].astype(np.float64))
    assert (error <= scales[:, None] * (0.5 + 127 * 4 * UNIT)).all()  # scale, its inverse and a product are rounded


@given(seeds, st.integers(-100, 100))
@settings(deadline=None)
def test_numbers_between_two_integers_equal_the_reference(program, seed, exponent):
    """As near to a half step as float32 comes: the last bit of each product decides."""
    generator = np.random.default_rng(seed)
    most = np.ldexp(generator.uniform(1, 2, 8), exponent).astype(np.float32)
    x = ((generator.integers(-127, 127, (8, 64)) + 0.5) * (most[:, None] / 127.0)).astype(np.float32)
    x += np.spacing(x) * generator.integers(-1, 2, x.shape).astype(np.float32)
    x[:, 0] = most
    check(program, x)


def test_halves_round_to_even(program):
    x = np.zeros((1, 16), np.float32)
    x[0, :7] = [127, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5]
    q, scales = check(program, x)
    assert scales[0] == 1 and q[0, :7].tolist() == [127, 0, 2, 2, 0, -2, -2]


@pytest.mark.parametrize("value", [0.0, -0.0, 1e-45, -1e-40, 4e-37, 5e-37, 3.4028235e38, -3.4028235e38])
def test_constant_rows(program, value):
    """Zeros, rows too small for a scale, the largest floats."""
    q, scales = check(program, np.full((2, 32), value, np.float32))
    if abs(value) < 4.2e-37:
        assert not q.any() and (scales == 1).all()
    else:
        assert (q == 127 * np.sign(value)).all()


def test_one_row_returns_its_scale(program):
    x = np.linspace(-2, 1, 48, dtype=np.float32)
    guard = Guards(8)
    q = guard.empty(stored_bytes(np.zeros((1, 48), np.int8)).shape, np.uint8)
    scale = program.quantize_row(guard.copy(x), 48, 0.0, q)
    guard.check()
    expected, scales = quantize_rows_reference(x[None])
    assert np.float32(scale) == scales[0] and np.array_equal(q, stored_bytes(expected))


@given(seeds, st.integers(2, 70))
@settings(deadline=None)
def test_a_row_does_not_depend_on_the_others(program, seed, rows):
    generator = np.random.default_rng(seed)
    x = (generator.standard_normal((rows, 32)) * generator.lognormal(0, 5, (rows, 1))).astype(np.float32)
    q, scales = quantize(program, x)
    row = generator.integers(rows)
    q_alone, scale_alone = quantize(program, x[row : row + 1])
    assert np.array_equal(q_alone[0], q[row]) and same_bits(scale_alone, scales[row : row + 1])
