"""Residual layer norm: within the error of its roundings, and quantized like quantize_rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.kernels import records
from tests.definitions.kernels import layer_norm_columns_reference, residual_layer_norm_reference
from tests.definitions.matmul import quantize_rows16_reference, quantize_rows_reference, stored_bytes
from tests.kernels.rows import DEPTHS, MISALIGNED, ROWS, SEEDS, check_independent
from tests.support.float_steps import UNIT, same_bits
from tests.support.guarded import Guards

EPSILON = 1e-6


def settings_of(depth, root_mean_square=False):
    """Makes the SETTINGS record of the kernel."""
    settings = np.zeros(1, records.SETTINGS)
    settings["model_dim"], settings["epsilon"] = depth, EPSILON
    settings["root_mean_square"] = root_mean_square
    return settings


def normalize(program, x, y, scale, bias, scheme=records.INT8, misaligned=0, multiplier=0.0, root_mean_square=False):
    """Returns (x, stored q, scales and shifts of rows) after the kernel; checks the guards. `y` may be None."""
    guard = Guards(misaligned)
    record = np.zeros(1, records.NORM)
    record["scale"], record["bias"] = (guard.copy(vector).ctypes.data for vector in (scale, bias))
    record["scheme"], record["multiplier"] = scheme, multiplier
    x = guard.copy(x, written=True)
    empty = np.zeros(x.shape, np.int16) if scheme == records.INT16 else stored_bytes(np.zeros(x.shape, np.int8))
    q, row_scales = guard.empty(empty.shape, empty.dtype), guard.empty((len(x), 2), np.float32)
    y = 0 if y is None else guard.copy(y)
    given = settings_of(x.shape[1], root_mean_square)
    program.residual_layer_norm(given, record, x, y, len(x), x, q, row_scales)
    guard.check()
    return x.copy(), q.copy(), row_scales.copy()


def quantized(x, multiplier=0.0):
    """Returns the kernel's other outputs (q, scales and shifts), by the reference."""
    q, *scales = quantize_rows_reference(x, multiplier)
    return stored_bytes(q), np.stack(scales, axis=1)


def random_operands(seed, rows, depth, offset=0.0, spread=1.0):
    generator = np.random.default_rng(seed)
    x, y = ((offset + spread * generator.standard_normal((rows, depth))).astype(np.float32) for _ in range(2))
    scale, bias = (generator.standard_normal(depth).astype(np.float32) for _ in range(2))
    return x, y, scale, bias


def tolerance(x, y, scale, expected):
    """Bounds the roundings of mean, centring, variance and the last three steps, in units of the deviation."""
    s = x.astype(np.float64) + y
    deviation = np.sqrt(s.var(axis=1, keepdims=True) + EPSILON)
    normalized = (s - s.mean(axis=1, keepdims=True)) / deviation
    roundings = x.shape[1] / 16 + 5  # of a sum over the depth, in sixteen lanes and a tree
    centring = (roundings + 3) * UNIT * np.abs(s).max(axis=1, keepdims=True) / deviation
    inside = centring + np.abs(normalized) * (centring + centring**2 + (roundings + 8) * UNIT)
    return 1.01 * (np.abs(scale) * inside + UNIT * np.abs(expected))


@given(
    SEEDS,
    ROWS,
    DEPTHS,
    st.sampled_from([0.0, 1.0, -30.0]),
    st.sampled_from([1e-6, 1.0, 1e6]),
    MISALIGNED,
)
@settings(deadline=None)
def test_equals_its_reference(program, seed, rows, depth, offset, spread, misaligned):
    x, y, scale, bias = random_operands(seed, rows, depth, offset, spread)
    made, q, row_scales = normalize(program, x, y, scale, bias, misaligned=misaligned)
    expected = residual_layer_norm_reference(x, y, scale, bias, EPSILON)
    assert (np.abs(made - expected) <= tolerance(x, y, scale, expected)).all()
    integers, scales = quantized(made)
    assert np.array_equal(q, integers) and same_bits(row_scales, scales)


@given(SEEDS, ROWS, DEPTHS, st.sampled_from([0.0, -30.0]), st.sampled_from([1e-6, 1.0, 1e6]), MISALIGNED)
@settings(deadline=None)
def test_rms_norms_equal_their_reference(program, seed, rows, depth, offset, spread, misaligned):
    """Nothing is subtracted, so each result is within a few units of itself."""
    x, y, scale, bias = random_operands(seed, rows, depth, offset, spread)
    made, q, row_scales = normalize(program, x, y, scale, bias, misaligned=misaligned, root_mean_square=True)
    expected = residual_layer_norm_reference(x, y, scale, bias, EPSILON, root_mean_square=True)
    added = np.float64(UNIT) * (np.abs(x) + np.abs(y)) / np.sqrt(np.square(x + y).mean(axis=1, keepdims=True) + EPSILON)
    limit = (depth / 16 + 12) * UNIT * (np.abs(expected - bias) + np.abs(bias)) + np.abs(scale) * added
    assert (np.abs(made - expected) <= limit).all()
    integers, scales = quantized(made)
    assert np.array_equal(q, integers) and same_bits(row_scales, scales)


@given(SEEDS, ROWS, DEPTHS)
@settings(deadline=None, max_examples=20)
def test_for_readers_of_other_schemes_the_floats_are_the_same(program, seed, rows, depth):
    """int16 rows are quantized like quantize_rows16; for readers of floats the rest stays untouched."""
    operands = random_operands(seed, rows, depth)
    expected = normalize(program, *operands)[0]
    made, q, row_scales = normalize(program, *operands, scheme=records.INT16, multiplier=2047.0)
    integers, scales = quantize_rows16_reference(made, 2047)
    assert same_bits(made, expected) and np.array_equal(q, integers)
    assert same_bits(row_scales[:, 0].copy(), scales) and not row_scales[:, 1].any()
    made, q, row_scales = normalize(program, *operands, scheme=records.FLOAT32)
    assert same_bits(made, expected)
    assert (q == Guards().empty(q.shape, q.dtype)).all() and (row_scales > 1e37).all()  # markers still


@given(SEEDS, ROWS, DEPTHS)
@settings(deadline=None, max_examples=20)
def test_without_a_second_input_it_is_as_with_zeros(program, seed, rows, depth):
    x, _, scale, bias = random_operands(seed, rows, depth)
    with_zeros = normalize(program, x, np.zeros_like(x), scale, bias)
    assert all(same_bits(a, b) for a, b in zip(normalize(program, x, None, scale, bias), with_zeros, strict=True))


def test_into_another_array_without_quantization(program):
    x, y, scale, bias = random_operands(3, 5, 48)
    expected, _, _ = normalize(program, x, y, scale, bias)
    guard, record = Guards(), np.zeros(1, records.NORM)
    record["scale"], record["bias"], record["scheme"] = scale.ctypes.data, bias.ctypes.data, records.INT8
    out = guard.empty(x.shape, np.float32)
    program.residual_layer_norm(settings_of(48), record, guard.copy(x), guard.copy(y), len(x), out, 0, 0)
    guard.check()
    assert same_bits(out, expected)


def test_a_multiplier_for_all_rows(program):
    x, y, scale, bias = random_operands(4, 6, 64)
    made, q, row_scales = normalize(program, x, y, scale, bias, multiplier=40.0)
    integers, scales = quantized(made, 40.0)
    assert np.array_equal(q, integers) and same_bits(row_scales, scales)


@given(SEEDS, st.integers(2, 70), DEPTHS)
@settings(deadline=None)
def test_a_row_does_not_depend_on_the_others(program, seed, rows, depth):
    x, y, scale, bias = random_operands(seed, rows, depth)
    check_independent(seed, rows, lambda part: normalize(program, x[part], y[part], scale, bias))


@pytest.mark.parametrize("value", [0.0, 1.5, -1e6, 1e18])
def test_a_constant_row_becomes_the_bias(program, value):
    """The mean of equal numbers is exact if their sums are, so the difference is zero."""
    x = np.full((2, 64), value, np.float32)
    _, _, scale, bias = random_operands(1, 1, 64)
    made, _, _ = normalize(program, x, x, scale, bias)
    assert np.array_equal(made, np.broadcast_to(bias, made.shape))


@given(SEEDS, ROWS, DEPTHS, st.integers(0, 3), st.sampled_from([0.0, -30.0]), MISALIGNED)
@settings(deadline=None)
def test_columns_equal_their_reference(program, seed, rows, depth, beside, offset, misaligned):
    """Some columns of wider rows; their neighbours stay."""
    x, _, scale, bias = random_operands(seed, rows, depth + 32 * beside, offset)
    scale, bias, guard, chosen = (
        scale[:depth],
        bias[:depth],
        Guards(misaligned),
        slice(16 * beside, 16 * beside + depth),
    )
    made = guard.copy(x, written=True)
    given = guard.copy(scale), guard.copy(bias), EPSILON
    program.layer_norm_columns(made.ctypes.data + 64 * beside, rows, x.shape[1], depth, *given)
    guard.check()
    expected = layer_norm_columns_reference(x[:, chosen], scale, bias, EPSILON)
    assert (np.abs(made[:, chosen] - expected) <= tolerance(x[:, chosen], 0, scale, expected)).all()
    kept = np.delete(np.arange(x.shape[1]), chosen)
    assert np.array_equal(made[:, kept], x[:, kept])


@given(SEEDS, st.integers(2, 20), DEPTHS)
@settings(deadline=None, max_examples=20)
def test_columns_of_a_row_do_not_depend_on_other_rows(program, seed, rows, depth):
    x, _, scale, bias = random_operands(seed, rows, depth)

    def run(part):
        made = x[part].copy()
        program.layer_norm_columns(made, len(made), depth, depth, scale, bias, EPSILON)
        return [made]

    check_independent(seed, rows, run)
