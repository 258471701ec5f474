"""Sparse products: the bits of the dense kernels, for any share of zeros."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.kernels.matmul.int8_matmul import AFFINE, INTEGERS, RELU
from cpunmt.kernels.matmul.packing import pack
from cpunmt.kernels.matmul.quantize_rows import PLANES
from cpunmt.simd.sparse_tile import ENTRIES, MOST, PLACE_BYTES
from tests.definitions.matmul import quantize_rows_reference, sparse_matmul_reference
from tests.kernels.rows import MISALIGNED, SEEDS, check_independent
from tests.support.float_steps import same_bits
from tests.support.guarded import Guards
from tests.support.packed_linear import lists_record, rectified_record

rows = st.integers(1, 40)
depths = st.integers(1, 40).map(lambda n: 16 * n)
columns = st.integers(1, 40 * 16)
densities = st.one_of(st.sampled_from([0.0, 0.05, 0.18, 0.5, 1.0]), st.floats(0, 1))
multipliers = st.sampled_from([0.0, 0.0, 20.0, 3e4])
MODES = (INTEGERS, AFFINE, RELU)
ALWAYS = "always"  # sparse, with any number of zeros


def rectified(seed, rows, depth, density):
    """Draws float32 [rows, depth] without negative numbers; `density` of them are positive, some tiny."""
    generator = np.random.default_rng(seed)
    x = np.abs(generator.standard_normal((rows, depth))) * generator.choice([1e-4, 1, 1, 1], (rows, depth))
    return np.where(generator.random((rows, depth)) < density, x, 0).astype(np.float32)


def random_layer(seed, depth, columns):
    """Draws int8 weights, and float32 scales and bias."""
    generator = np.random.default_rng(seed)
    weights = generator.integers(-127, 128, (depth, columns), np.int8)
    return (
        weights,
        generator.lognormal(-4, 2, columns).astype(np.float32),
        generator.standard_normal(columns).astype("f"),
    )


def multiply(program, x, layer, mode=AFFINE, multiplier=0.0, how=None, misaligned=0, break_layout=None):
    """Returns `sparse_linear`'s output without the padding, [rows, columns]; checks the guards."""
    guard = Guards(misaligned)
    count, depth = x.shape
    record = rectified_record(guard, *layer, multiplier)
    if break_layout:
        record[break_layout] = guard.copy(np.zeros(depth * 1024, np.int8)).ctypes.data
    lists = lists_record(guard, depth, layer[0].shape[1])
    out = guard.empty((count, 16 * record["panels"][0]), np.int32 if mode == INTEGERS else np.float32)
    given, scales = guard.copy(x, written=True), guard.empty((count, 2), np.float32)
    if how == ALWAYS:
        for row in range(count):
            row_bytes = 64 * -(-layer[0].shape[1] // 64)
            groups = program.list_row(given[row], depth, multiplier, row_bytes, scales[row], lists)
            program.sparse_row(record, lists, groups, scales[row], out[row], mode)
    else:
        q = guard.empty((count, PLANES * depth), np.uint8)
        program.sparse_linear(record, given, count, lists, q, scales, out, mode)
    guard.check()
    return np.ascontiguousarray(out[:, : layer[0].shape[1]])


def dense(program, x, layer, mode=AFFINE, multiplier=0.0):
    """Returns the same by `quantize_rows` and `int8_linear`."""
    guard = Guards()
    record = rectified_record(guard, *layer, multiplier)
    out = guard.empty((len(x), 16 * record["panels"][0]), np.int32 if mode == INTEGERS else np.float32)
    q, scales = guard.empty((len(x), PLANES * x.shape[1]), np.uint8), guard.empty((len(x), 2), np.float32)
    program.quantize_rows(guard.copy(x, written=True), len(x), x.shape[1], multiplier, q, scales)
    program.int8_linear(record, q, scales, len(x), out, mode, 0)
    return np.ascontiguousarray(out[:, : layer[0].shape[1]])


def integers(x, weights, multiplier=0.0):
    """Computes INTEGERS by their definition."""
    q, _, shifts = quantize_rows_reference(x, multiplier)
    zeros = [-128 if shift else 0 for shift in shifts]  # a row of zeros is q = 0
    return sparse_matmul_reference(q, zeros, pack(weights), weights.shape[1]), q


@given(SEEDS, rows, depths, columns, densities, multipliers, st.sampled_from([None, ALWAYS]), MISALIGNED)
@settings(deadline=None)
def test_integers_are_exact(program, seed, rows, depth, columns, density, multiplier, how, misaligned):
    x, layer = rectified(seed, rows, depth, density), random_layer(seed, depth, columns)
    expected, q = integers(x, layer[0], multiplier)
    assert np.array_equal(expected, q.astype(np.int32) @ layer[0].astype(np.int32))
    if multiplier:  # initial values of sums: see schemes.int8.static_scales
        expected = expected + 127 * layer[0].sum(axis=0, dtype=np.int32)
    assert np.array_equal(multiply(program, x, layer, INTEGERS, multiplier, how, misaligned), expected)


@given(SEEDS, rows, depths, columns, densities, multipliers, st.sampled_from([None, ALWAYS]))
@settings(deadline=None)
def test_floats_are_those_of_the_dense_product(program, seed, rows, depth, columns, density, multiplier, how):
    x, layer = rectified(seed, rows, depth, density), random_layer(seed, depth, columns)
    for mode in MODES:
        made = multiply(program, x, layer, mode, multiplier, how)
        assert same_bits(made, dense(program, x, layer, mode, multiplier))


@pytest.mark.parametrize("number", [np.inf, np.finfo(np.float32).max, 1e38, 1e-37, 1e-39, 1e-45, 0.0])
@pytest.mark.parametrize("how", [None, ALWAYS])
def test_a_row_may_have_any_largest_number(program, number, how):
    """Too large for float32, too small for a scale, or only zeros."""
    x, layer = np.zeros((3, 64), np.float32), random_layer(1, 64, 80)
    x[0, 5], x[1, 60], x[2, 7:9] = number, number, (1.0, number)
    for mode in MODES:
        assert same_bits(multiply(program, x, layer, mode, how=how), dense(program, x, layer, mode))


@pytest.mark.parametrize("sign", [1, -1])
def test_the_deepest_layer_that_a_config_allows_does_not_overflow(program, sign):
    depth = 65536
    layer = np.full((depth, 16), 127 * sign, np.int8), np.ones(16, np.float32), np.zeros(16, np.float32)
    x = np.ones((1, depth), np.float32)
    assert (multiply(program, x, layer, INTEGERS, how=ALWAYS) == 127 * 127 * depth * sign).all()


def test_an_entry_names_its_row_and_is_not_too_large(program):
    """Values up to 255, each as often as needed, and 0 to fill the last group."""
    x = np.zeros(1600, np.float32)
    x[1:511:2] = np.arange(1, 256)
    guard = Guards()
    lists, scale = lists_record(guard, 1600, 16), guard.empty(2, np.float32)
    groups = program.list_row(guard.copy(x), 1600, 0.0, 64 * PLACE_BYTES, scale, lists)
    entries, values = (made[: ENTRIES * groups] for made in guard_arrays(guard, np.int32, np.uint8))
    assert values.max() <= MOST
    q = np.zeros(1600, np.int64)
    np.add.at(q, entries[values > 0] // 64, values[values > 0])
    assert np.array_equal(q, quantize_rows_reference(x[None])[0][0].astype(np.int64) + 128)


def guard_arrays(guard, *dtypes):
    """Guards the entries and values of the last lists."""
    found = [buffer[first:end] for buffer, first, end, _ in guard._made]
    return [found[i].view(dtype) for i, dtype in enumerate(dtypes)]


@pytest.mark.parametrize("count", [1, 2, 5, 16, 70])
@pytest.mark.parametrize("multiplier", [0.0, 30.0])
def test_what_is_read_depends_on_the_zeros(program, count, multiplier):
    """Rows of mostly zeros read the weights by depth, others read the panels: the other layout may be broken."""
    layer = random_layer(count, 512, 80)
    for density, broken in ((0.04, "weights"), (1.0, "by_depth")):
        x = rectified(count, count, 512, density)
        expected = dense(program, x, layer, AFFINE, multiplier)
        assert same_bits(multiply(program, x, layer, AFFINE, multiplier, break_layout=broken), expected)
        other = "by_depth" if broken == "weights" else "weights"
        assert not same_bits(multiply(program, x, layer, AFFINE, multiplier, break_layout=other), expected)


@given(SEEDS, st.integers(2, 70), st.floats(0, 1))
@settings(deadline=None)
def test_a_row_does_not_depend_on_the_others(program, seed, rows, density):
    x, layer = rectified(seed, rows, 64, density), random_layer(seed, 64, 48)
    check_independent(seed, rows, lambda part: [multiply(program, x[part], layer)])
