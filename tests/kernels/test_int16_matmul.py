"""int16 products: the integers are exact, up to the largest sums that an int32 holds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.kernels.matmul.int8_matmul import AFFINE, INTEGERS, RELU
from cpunmt.kernels.matmul.packing import pack, panels
from tests.definitions.matmul import int16_linear_reference, int16_matmul_reference
from tests.kernels.rows import COLUMNS, DEPTHS, MISALIGNED, ROWS, SEEDS, check_independent
from tests.support.float_steps import TINY, UNIT, fma, same_bits
from tests.support.guarded import Guards
from tests.support.packed_linear import int16_record

LARGEST_SUM = 2**31 - 1


def multiply(program, q, weights, mode=INTEGERS, scales=None, bias=None, row_scales=None, misaligned=0):
    """Returns int16_linear's output without the padding, [rows, columns]; checks the guards."""
    guard = Guards(misaligned)
    count = weights.shape[1]
    scales = np.ones(count, np.float32) if scales is None else scales
    bias = np.ones(count, np.float32) if bias is None else bias
    record = int16_record(guard, weights, scales, bias)
    row_scales = np.ones(len(q), np.float32) if row_scales is None else row_scales
    row_scales = guard.copy(np.stack([row_scales, np.full(len(q), np.nan, np.float32)], axis=1))  # unread shift
    out = guard.empty((len(q), 16 * panels(count)), np.int32 if mode == INTEGERS else np.float32)
    program.int16_linear(record, guard.copy(q), row_scales, len(q), out, mode)
    guard.check()
    return np.ascontiguousarray(out[:, :count])


def random_operands(seed, rows, depth, columns, reach=4095):
    """Draws activations up to `reach`, and columns with the largest sums of magnitudes that these allow."""
    generator = np.random.default_rng(seed)
    q = generator.integers(-reach, reach + 1, (rows, depth), np.int16)
    weights = generator.standard_normal((depth, columns)) * generator.lognormal(0, 2, (depth, 1))
    room = LARGEST_SUM // reach - depth
    scales = np.maximum(np.abs(weights).sum(axis=0) / room, np.abs(weights).max(axis=0) / 32767)
    weights = np.rint(weights / scales).astype(np.int16)
    assert np.abs(weights.astype(np.int64)).sum(axis=0).max() * reach <= LARGEST_SUM
    return q, weights


def random_scales(seed, rows, columns):
    generator = np.random.default_rng(seed)
    scales, row_scales = (generator.lognormal(-9, 2, n).astype(np.float32) for n in (columns, rows))
    return row_scales, scales, generator.standard_normal(columns).astype(np.float32)


@given(SEEDS, ROWS, DEPTHS, COLUMNS, st.sampled_from([511, 4095, 32767]), MISALIGNED)
@settings(deadline=None)
def test_integers_are_exact(program, seed, rows, depth, columns, reach, misaligned):
    q, weights = random_operands(seed, rows, depth, columns, reach)
    expected = int16_matmul_reference(q, pack(weights), columns)
    assert np.array_equal(multiply(program, q, weights, misaligned=misaligned), expected)


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 6, 7, 64, 70])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("depth, reach, weight", [(16, 4096, 32767), (256, 4095, 2048), (8192, 1023, 256)])
def test_the_largest_sums_are_exact(program, rows, sign, depth, reach, weight):
    """All products have the same sign; their sum is nearly 2**31."""
    expected = sign * depth * reach * weight
    assert 2**31 - 2**22 < abs(expected) < 2**31
    q, weights = np.full((rows, depth), reach, np.int16), np.full((depth, 80), sign * weight, np.int16)
    assert (multiply(program, q, weights) == expected).all()


@given(SEEDS, st.integers(1, 9), st.integers(1, 6))
@settings(deadline=None)
def test_partial_sums_may_leave_int32(program, seed, rows, panel_count):
    """The final sum fits again: additions modulo 2**32 commute."""
    q, weights = np.full((rows, 64), 32767, np.int16), np.full((64, 16 * panel_count), 32767, np.int16)
    weights[np.random.default_rng(seed).permutation(64)[:32]] *= -1
    assert not multiply(program, q, weights).any()


@given(SEEDS, ROWS, DEPTHS, COLUMNS, st.booleans(), MISALIGNED)
@settings(deadline=None)
def test_floats_are_the_reference(program, seed, rows, depth, columns, relu, misaligned):
    """Besides the conversion of the sum: one rounding of sum * scale, one of the multiply-add."""
    q, weights = random_operands(seed, rows, depth, columns)
    row_scales, scales, bias = random_scales(seed, rows, columns)
    out = multiply(program, q, weights, RELU if relu else AFFINE, scales, bias, row_scales, misaligned)
    packed = pack(weights)
    expected = int16_linear_reference(q, row_scales[:, None], packed, columns, scales, bias, relu)
    product = int16_linear_reference(q, row_scales[:, None], packed, columns, scales, 0 * bias)
    tolerance = UNIT * (1 + 4 * UNIT) * (np.abs(product) + np.abs(expected)) + TINY
    assert (np.abs(out - expected) <= tolerance).all()
    sums = int16_matmul_reference(q, packed, columns).astype(np.float32)
    bits = fma(sums * scales, row_scales[:, None], bias)
    assert np.array_equal(out, np.maximum(bits, 0)) if relu else same_bits(out, bits)


@given(SEEDS, st.integers(2, 140), st.integers(1, 20))
@settings(deadline=None)
def test_a_row_does_not_depend_on_the_others(program, seed, rows, panel_count):
    columns = 16 * panel_count
    q, weights = random_operands(seed, rows, 32, columns)
    row_scales, *vectors = random_scales(seed, rows, columns)
    check_independent(
        seed, rows, lambda part: [multiply(program, q[part], weights, AFFINE, *vectors, row_scales[part])]
    )
