"""int8 products: the integers are exact, whatever the sizes, the path and the extremes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.kernels.int8_matmul import (
    AFFINE,
    INTEGERS,
    RELU,
    int8_linear_reference,
    int8_matmul_reference,
)
from cpunmt.kernels.packing import pack_int8, panels
from cpunmt.kernels.quantize_rows import stored_bytes
from tests.float_steps import TINY, UNIT, same_bits
from tests.guarded import Guards
from tests.packed_linear import int8_record

rows = st.integers(1, 70)
depths = st.integers(1, 12).map(lambda n: 16 * n)
columns = st.integers(1, 20 * 16)
misaligned = st.sampled_from([0, 4, 20])
seeds = st.integers(0, 2**32 - 1)


def multiply(program, q, weights, mode=INTEGERS, scales=None, bias=None, row_scales=None, misaligned=0):
    """int8_linear's output without the padding, [rows, columns]; the guards are checked."""
    guard = Guards(misaligned)
    count = weights.shape[1]
    ones = np.ones(max(count, len(q)), np.float32)
    scales, bias = (ones[:count] if vector is None else vector for vector in (scales, bias))
    record = int8_record(guard, weights, scales, bias)
    row_scales = guard.copy(ones[: len(q)] if row_scales is None else row_scales)
    dtype = np.int32 if mode == INTEGERS else np.float32
    out = guard.empty((len(q), 16 * panels(count)), dtype)
    signed = int(q.min() < 0)
    program.int8_linear(record, guard.copy(stored_bytes(q)), row_scales, len(q), out, mode, signed)
    guard.check()
    return np.ascontiguousarray(out[:, :count])


def random_operands(seed, rows, depth, columns, lowest=-127):
    generator = np.random.default_rng(seed)
    q = generator.integers(lowest, 128, (rows, depth), np.int8)
    return q, generator.integers(-127, 128, (depth, columns), np.int8)


@given(seeds, rows, depths, columns, misaligned)
@settings(deadline=None)
def test_integers_are_exact(program, seed, rows, depth, columns, misaligned):
    q, weights = random_operands(seed, rows, depth, columns)
    expected = int8_matmul_reference(q, pack_int8(weights), columns)
    assert np.array_equal(multiply(program, q, weights, misaligned=misaligned), expected)


@given(seeds, rows, depths, columns)
@settings(deadline=None)
def test_integers_of_rows_without_negatives_are_exact(program, seed, rows, depth, columns):
    q, weights = random_operands(seed, rows, depth, columns, lowest=0)
    expected = int8_matmul_reference(q, pack_int8(weights), columns)
    assert np.array_equal(multiply(program, q, weights), expected)


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 6, 7, 64, 70])
@pytest.mark.parametrize("q_sign, w_sign", [(1, 1), (1, -1), (-1, 1), (-1, -1)])
def test_extremes_do_not_saturate(program, rows, q_sign, w_sign):
    depth, columns = 256, 80
    q, weights = np.full((rows, depth), 127 * q_sign, np.int8), np.full((depth, columns), 127 * w_sign, np.int8)
    assert (multiply(program, q, weights) == 127 * 127 * depth * q_sign * w_sign).all()


@given(seeds, st.integers(1, 9), st.integers(1, 6))
@settings(deadline=None)
def test_mixed_extremes_are_exact(program, seed, rows, panel_count):
    generator = np.random.default_rng(seed)
    values = np.array([-127, -1, 0, 1, 127], np.int8)
    q, weights = generator.choice(values, (rows, 64)), generator.choice(values, (64, 16 * panel_count))
    expected = int8_matmul_reference(q, pack_int8(weights), 16 * panel_count)
    assert np.array_equal(multiply(program, q, weights), expected)


@pytest.mark.parametrize("sign", [1, -1])
def test_the_deepest_layer_that_a_config_allows_does_not_overflow(program, sign):
    depth = 65536
    q, weights = np.full((2, depth), 127, np.int8), np.full((depth, 16), 127 * sign, np.int8)
    assert (multiply(program, q, weights) == 127 * 127 * depth * sign).all()


@given(seeds, rows, depths, columns, st.booleans(), misaligned)
@settings(deadline=None)
def test_floats_are_rounded_twice(program, seed, rows, depth, columns, relu, misaligned):
    """Beside the conversion of the sum, one rounding of sum * scale, one of the multiply-add."""
    q, weights = random_operands(seed, rows, depth, columns)
    generator = np.random.default_rng(seed)
    scales, row_scales = (generator.lognormal(-4, 2, n).astype(np.float32) for n in (columns, rows))
    bias = generator.standard_normal(columns).astype(np.float32)
    arguments = (scales, bias)
    out = multiply(program, q, weights, RELU if relu else AFFINE, *arguments, row_scales, misaligned)
    packed = pack_int8(weights)
    expected = int8_linear_reference(q, row_scales, packed, columns, *arguments, relu)
    product = int8_linear_reference(q, row_scales, packed, columns, scales, 0 * bias)
    tolerance = UNIT * (1 + 4 * UNIT) * (np.abs(product) + np.abs(expected)) + TINY
    assert (np.abs(out - expected) <= tolerance).all()
    assert not relu or (out >= 0).all()


@given(seeds, st.integers(2, 140), st.integers(1, 20))
@settings(deadline=None)
def test_a_row_does_not_depend_on_the_others(program, seed, rows, panel_count):
    columns = 16 * panel_count
    q, weights = random_operands(seed, rows, 32, columns)
    generator = np.random.default_rng(seed)
    scales, row_scales = (generator.lognormal(-4, 2, n).astype(np.float32) for n in (columns, rows))
    bias = generator.standard_normal(columns).astype(np.float32)
    together = multiply(program, q, weights, AFFINE, scales, bias, row_scales)
    first = generator.integers(rows)
    last = generator.integers(first, rows) + 1
    part = multiply(program, q[first:last], weights, AFFINE, scales, bias, row_scales[first:last])
    assert same_bits(part, together[first:last])


def test_rows_of_zeros_give_the_bias(program):
    q, weights = np.zeros((3, 64), np.int8), random_operands(1, 1, 64, 48)[1]
    bias = np.linspace(-3, 3, 48, dtype=np.float32)
    out = multiply(program, q, weights, AFFINE, None, bias)
    assert (out == bias).all()
    assert (multiply(program, q, weights, RELU, None, bias) == np.maximum(bias, 0)).all()
