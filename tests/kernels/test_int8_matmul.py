"""int8 products: exact integers for all sizes, paths and extremes."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.kernels.matmul.int8_matmul import AFFINE, INTEGERS, RELU
from cpunmt.kernels.matmul.packing import pack, panels, room_bytes
from cpunmt.simd.tile_shapes import CODED_FAR
from tests.definitions.matmul import int8_linear_reference, int8_matmul_reference, stored_bytes
from tests.kernels.rows import COLUMNS, DEPTHS, MISALIGNED, ROWS, SEEDS, check_independent
from tests.support.float_steps import TINY, UNIT, fma, same_bits
from tests.support.guarded import Guards, Pages
from tests.support.packed_linear import coded_record, column_totals, int8_record
from tests.support.speeds import slow_after


def multiply(
    program, q, weights, mode=INTEGERS, scales=None, bias=None, row_scales=None, misaligned=0, guard=None, alone=False
):
    """Returns int8_linear's output without the padding, [rows, columns]; checks the guards.

    alone      there are codes, and no int8 weights
    weights    int8 [depth, columns], or (levels, codes): int8 [16] and uint8 [depth, columns]
    """
    levels, weights = weights if isinstance(weights, tuple) else (None, weights)
    guard = guard or Guards(misaligned)
    count = weights.shape[1]
    scales = np.ones(count, np.float32) if scales is None else scales
    bias = np.ones(count, np.float32) if bias is None else bias
    row_scales = plain(np.ones(len(q), np.float32)) if row_scales is None else row_scales
    record = (
        int8_record(guard, weights, scales, bias)
        if levels is None
        else coded_record(guard, weights, levels, scales, bias)
    )
    room = 0
    if alone:
        record["weights"], room = 0, guard.empty(room_bytes(len(weights)), np.int8)
    dtype = np.int32 if mode == INTEGERS else np.float32
    out = guard.empty((len(q), 16 * panels(count)), dtype)
    program.int8_linear(record, guard.copy(stored_bytes(q)), guard.copy(row_scales), len(q), out, mode, room)
    guard.check()
    return np.ascontiguousarray(out[:, :count])


def plain(scales):
    """Returns row scales without a shift."""
    return np.stack([scales, np.zeros_like(scales)], axis=1)


def random_operands(seed, rows, depth, columns):
    generator = np.random.default_rng(seed)
    q = generator.integers(-128, 128, (rows, depth), np.int8)
    return q, generator.integers(-127, 128, (depth, columns), np.int8)


def random_scales(seed, rows, columns):
    """Draws (scales and shifts of rows, scales of columns, bias)."""
    generator = np.random.default_rng(seed)
    scales, row_scales = (generator.lognormal(-4, 2, n).astype(np.float32) for n in (columns, rows))
    shifts = generator.integers(-127, 129, rows).astype(np.float32) * row_scales
    return np.stack([row_scales, shifts], axis=1), scales, generator.standard_normal(columns).astype(np.float32)


@given(SEEDS, ROWS, DEPTHS, COLUMNS, MISALIGNED)
@settings(deadline=None)
def test_integers_are_exact(program, seed, rows, depth, columns, misaligned):
    q, weights = random_operands(seed, rows, depth, columns)
    expected = int8_matmul_reference(q, pack(weights), columns)
    assert np.array_equal(multiply(program, q, weights, misaligned=misaligned), expected)


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 6, 7, 64, 70])
@pytest.mark.parametrize("q_value", [127, -127, -128])
@pytest.mark.parametrize("w_sign", [1, -1])
def test_extremes_do_not_saturate(program, rows, q_value, w_sign):
    depth, columns = 256, 80
    q, weights = np.full((rows, depth), q_value, np.int8), np.full((depth, columns), 127 * w_sign, np.int8)
    assert (multiply(program, q, weights) == q_value * 127 * depth * w_sign).all()


@given(SEEDS, st.integers(1, 9), st.integers(1, 6))
@settings(deadline=None)
def test_mixed_extremes_are_exact(program, seed, rows, panel_count):
    generator = np.random.default_rng(seed)
    values = np.array([-128, -127, -1, 0, 1, 127], np.int8)
    q, weights = generator.choice(values, (rows, 64)), generator.choice(values[1:], (64, 16 * panel_count))
    expected = int8_matmul_reference(q, pack(weights), 16 * panel_count)
    assert np.array_equal(multiply(program, q, weights), expected)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("q_value", [127, -128])
def test_the_deepest_layer_that_a_config_allows_does_not_overflow(program, q_value, sign):
    depth = 65536
    q, weights = np.full((2, depth), q_value, np.int8), np.full((depth, 16), 127 * sign, np.int8)
    assert (multiply(program, q, weights) == q_value * 127 * depth * sign).all()


@given(SEEDS, st.integers(1, 7), DEPTHS, COLUMNS, MISALIGNED)
@settings(deadline=None)
def test_codes_stand_for_their_levels(program, seed, rows, depth, columns, misaligned):
    """Any 16 levels, in any order; a few rows read the codes, more read the int8 weights."""
    generator = np.random.default_rng(seed)
    levels = generator.integers(-127, 128, 16, np.int8)
    codes = generator.integers(0, 16, (depth, columns), np.uint8)
    q = random_operands(seed, rows, depth, 1)[0]
    expected = int8_matmul_reference(q, pack(levels[codes]), columns)
    assert np.array_equal(multiply(program, q, (levels, codes), misaligned=misaligned), expected)
    row_scales, *vectors = random_scales(seed, rows, columns)
    for mode in (AFFINE, RELU):
        made = multiply(program, q, (levels, codes), mode, *vectors, row_scales)
        assert same_bits(made, multiply(program, q, levels[codes], mode, *vectors, row_scales))


@given(SEEDS, ROWS, DEPTHS, COLUMNS, MISALIGNED)
@settings(deadline=None)
def test_codes_alone(program, seed, rows, depth, columns, misaligned):
    """Without int8 weights any number of rows has the same bits."""
    generator = np.random.default_rng(seed)
    levels, codes = generator.integers(-127, 128, 16, np.int8), generator.integers(0, 16, (depth, columns), np.uint8)
    q = random_operands(seed, rows, depth, 1)[0]
    row_scales, *vectors = random_scales(seed, rows, columns)
    for mode in (INTEGERS, AFFINE, RELU):
        given_ = mode, *vectors, row_scales, misaligned
        made = multiply(program, q, (levels, codes), *given_, alone=True)
        expected = multiply(program, q, levels[codes], *given_)
        assert np.array_equal(made, expected) if mode == INTEGERS else same_bits(made, expected)


@pytest.mark.parametrize("rows", [1, 7, 13, 70])
@pytest.mark.parametrize(("depth", "columns"), [(64, 16 * 140), (4096, 16 * 9), (9216, 16 * 6)])
def test_codes_alone_of_more_than_one_part(program, rows, depth, columns):
    """More panels than are decoded at a time, whether their number follows from the depth or is the least one."""
    generator = np.random.default_rng(rows)
    levels, codes = np.arange(-120, 120, 15, dtype=np.int8), generator.integers(0, 16, (depth, columns), np.uint8)
    q = generator.integers(-128, 128, (rows, depth), np.int8)
    made = multiply(program, q, (levels, codes), alone=True)
    assert np.array_equal(made, q.astype(np.int64) @ levels[codes].astype(np.int64))


@pytest.mark.parametrize("rows", range(1, 8))
def test_codes_of_weights_beyond_a_cores_cache(program, rows):
    """With these, more rows read the codes."""
    depth, columns, generator = 1024, CODED_FAR // 1024, np.random.default_rng(rows)
    levels, codes = np.arange(-120, 120, 15, dtype=np.int8), generator.integers(0, 16, (depth, columns), np.uint8)
    q = generator.integers(-128, 128, (rows, depth), np.int8)
    expected = q.astype(np.int64) @ levels[codes].astype(np.int64)
    assert np.array_equal(multiply(program, q, (levels, codes)), expected)


@given(SEEDS, ROWS, DEPTHS, COLUMNS, st.booleans(), MISALIGNED)
@settings(deadline=None)
def test_floats_are_rounded_thrice(program, seed, rows, depth, columns, relu, misaligned):
    """Besides the conversion of the sum: one rounding of sum * scale, one of each multiply-add."""
    q, weights = random_operands(seed, rows, depth, columns)
    row_scales, scales, bias = random_scales(seed, rows, columns)
    totals = column_totals(weights, scales)
    out = multiply(program, q, weights, RELU if relu else AFFINE, scales, bias, row_scales, misaligned)
    packed = pack(weights)
    expected = int8_linear_reference(q, row_scales, packed, columns, scales, totals, bias, relu)
    product = int8_linear_reference(q, plain(row_scales[:, 0]), packed, columns, scales, totals, 0 * bias)
    added = row_scales[:, 1:].astype(np.float64) * totals + bias
    tolerance = UNIT * (1 + 4 * UNIT) * (np.abs(product) + np.abs(added) + np.abs(expected)) + 3 * TINY
    assert (np.abs(out - expected) <= tolerance).all()
    assert not relu or (out >= 0).all()


@given(SEEDS, ROWS, DEPTHS, COLUMNS)
@settings(deadline=None)
def test_rows_without_a_shift_do_not_see_the_totals(program, seed, rows, depth, columns):
    """To the bit: float(sum) * scale, then one multiply-add."""
    q, weights = random_operands(seed, rows, depth, columns)
    row_scales, scales, bias = random_scales(seed, rows, columns)
    sums = int8_matmul_reference(q, pack(weights), columns).astype(np.float32)
    expected = fma(sums * scales, row_scales[:, :1], bias)
    vectors = scales, bias, plain(row_scales[:, 0])
    assert same_bits(multiply(program, q, weights, AFFINE, *vectors), expected)
    assert np.array_equal(multiply(program, q, weights, RELU, *vectors), np.maximum(expected, 0))


# all up to a few tiles, then numbers around a pass over the weights and around whole blocks of sixteen
FEW = [*range(1, 18), 31, 33, 48, 65, 97, 193]
MANY = [*range(1, 71), 79, 80, 81, 95, 96, 97, 112, 113, 191, 192, 193, 255, 256, 257, 289, 300]


@pytest.mark.parametrize("rows", slow_after(len(FEW), [*FEW, *sorted({*MANY} - {*FEW})]))
def test_every_number_of_rows_is_exact(program, rows):
    """To the bit, with one to nine panels, depths for matrix registers (multiples of 64) and others, all modes."""
    for depth, panel_count in itertools.product((64, 80, 192), range(1, 10)):
        columns = 16 * panel_count - rows % 3
        q, weights = random_operands(rows, rows, depth, columns)
        row_scales, scales, bias = random_scales(rows, rows, columns)
        sums = int8_matmul_reference(q, pack(weights), columns)
        assert np.array_equal(multiply(program, q, weights), sums), (depth, panel_count)
        added = fma(row_scales[:, 1:], column_totals(weights, scales), bias)
        floats = fma(sums.astype(np.float32) * scales, row_scales[:, :1], added)
        for mode, expected in ((AFFINE, floats), (RELU, np.maximum(floats, 0))):
            made = multiply(program, q, weights, mode, scales, bias, row_scales)
            assert same_bits(made, expected), (depth, panel_count, mode)


@pytest.mark.parametrize("depth", [64, 80])
@pytest.mark.parametrize("rows", [1, 2, 4, 5, 6, 15, 16, 17, 33, 47, 97])
def test_nothing_is_read_beyond_its_end(program, rows, depth):
    for panel_count in (1, 2, 3, 4, 7):
        q, weights = random_operands(rows, rows, depth, 16 * panel_count)
        row_scales, *vectors = random_scales(rows, rows, 16 * panel_count)
        made = multiply(program, q, weights, AFFINE, *vectors, row_scales, guard=Pages())
        assert same_bits(made, multiply(program, q, weights, AFFINE, *vectors, row_scales))


@given(SEEDS, st.integers(2, 140), st.sampled_from([32, 64]), st.integers(1, 20))
@settings(deadline=None)
def test_a_row_does_not_depend_on_the_others(program, seed, rows, depth, panel_count):
    columns = 16 * panel_count
    q, weights = random_operands(seed, rows, depth, columns)
    row_scales, *vectors = random_scales(seed, rows, columns)
    check_independent(
        seed, rows, lambda part: [multiply(program, q[part], weights, AFFINE, *vectors, row_scales[part])]
    )
