"""Logits of some pieces, directly from a table's rows: the same bits as the gathered output layer."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cpunmt.engine.full_output import entries
from cpunmt.kernels import records
from cpunmt.kernels.matmul.int8_matmul import AFFINE
from cpunmt.kernels.matmul.packing import PANEL
from cpunmt.kernels.matmul.quantize_rows import PLANES
from cpunmt.kernels.matmul.row_products import AHEAD
from cpunmt.kernels.softmax import LOWEST
from cpunmt.simd import isa
from tests.definitions.matmul import quantize_rows_reference, row_products_reference
from tests.kernels.rows import MISALIGNED, SEEDS, check_independent
from tests.kernels.test_candidates import SCHEMES, USED, dtypes, random_rows
from tests.support.float_steps import same_bits
from tests.support.guarded import Guards, Pages

depths = st.integers(1, 64).map(lambda n: 16 * n)
REACH = 300.0  # int16: sums of 1,024 products stay in 32 bits


def random_table(seed, pieces, depth, dtype):
    """Draws rows [pieces, depth], and the vectors by name of a table of that type."""
    generator = np.random.default_rng(seed)
    rows = random_rows(generator, pieces, depth, dtype)
    if dtype == np.int16:
        rows //= 8
    vectors = {name: generator.standard_normal(pieces).astype(np.float32) for name in ("totals", "bias")}
    vectors["scales"] = generator.lognormal(-4, 2, pieces).astype(np.float32)
    vectors["start"] = generator.integers(-(2**24), 2**24, pieces, np.int32)
    return rows, {name: vectors[name] for name in USED[SCHEMES[np.dtype(dtype)]]}


def chosen_pieces(seed, pieces, count):
    return np.sort(np.random.default_rng(seed).choice(pieces, count, replace=False)).astype(np.int32)


def _table(guard, rows, vectors):
    table = np.zeros(1, records.TABLE)
    table["scheme"], table["rows"] = SCHEMES[rows.dtype], guard.copy(rows).ctypes.data
    for name, vector in vectors.items():
        table[name] = guard.copy(vector).ctypes.data
    return table


def _operands(program, guard, x, dtype):
    """Returns quantized rows and their scales, as the product of such a table reads them."""
    rows, depth = x.shape
    scales = guard.empty((rows, 2), np.float32)
    if dtype == np.int8:
        q = guard.empty((rows, PLANES * depth), np.uint8)
        program.quantize_rows(guard.copy(x, written=True), rows, depth, 0.0, q, scales)
    elif dtype == np.int16:
        q = guard.empty((rows, depth), np.int16)
        program.quantize_rows16(guard.copy(x, written=True), rows, depth, REACH, q, scales)
    else:
        q = guard.empty(1, np.uint8)
    return q, scales


def score(program, rows, vectors, x, pieces, guard=None):
    """Returns `score_pieces`' output [rows of x, pieces rounded up]; checks the guards."""
    guard = guard or Guards()
    table = _table(guard, rows, vectors)
    for name in vectors:
        if rows.dtype != np.float32:
            table[name] = 0  # not looked at
    table["entries"] = guard.copy(entries(**vectors)).ctypes.data
    q, scales = _operands(program, guard, x, rows.dtype)
    out = guard.empty((len(x), -(-len(pieces) // PANEL) * PANEL), np.float32)
    given_x, given_pieces = guard.copy(x), guard.copy(pieces)
    program.score_pieces(table, x.shape[1], given_x, q, scales, len(x), given_pieces, len(pieces), out)
    guard.check()
    return out


def gathered(program, rows, vectors, x, pieces):
    """Returns the logits [rows of x, pieces] of `gather_output` and `linear`."""
    guard, depth, panels = Guards(), rows.shape[1], -(-len(pieces) // PANEL)
    output = np.zeros(1, records.LINEAR)
    output["scheme"], output["depth"], output["panels"] = SCHEMES[rows.dtype], depth, panels
    output["weights"] = guard.empty(panels * PANEL * depth, rows.dtype).ctypes.data
    for name, vector in vectors.items():
        output[name] = guard.empty(panels * PANEL, vector.dtype).ctypes.data
    pointers, out = guard.empty(16, np.int64), guard.empty((len(x), panels * PANEL), np.float32)
    program.gather_output(_table(guard, rows, vectors), pieces, len(pieces), depth, pointers, 0, output)
    q, scales = _operands(program, guard, x, rows.dtype)
    program.linear(output, guard.copy(x), q, scales, len(x), out, AFFINE, 0)
    guard.check()
    return np.ascontiguousarray(out[:, : len(pieces)])


def check(program, rows, vectors, x, pieces, guard=None):
    made, count = score(program, rows, vectors, x, pieces, guard), len(pieces)
    assert same_bits(np.ascontiguousarray(made[:, :count]), gathered(program, rows, vectors, x, pieces))
    assert (made[:, count:] == LOWEST).all()


@given(SEEDS, st.integers(1, 300), depths, dtypes, st.integers(1, 5), MISALIGNED)
@example(0, 16, 16, np.dtype(np.int8), 1, 0)
@example(0, 17, 1024, np.dtype(np.int8), 2, 0)
@settings(deadline=None)
def test_logits_are_those_of_the_gathered_layer(program, seed, count, depth, dtype, rows, misaligned):
    """To the bit, for pieces anywhere in the table; the padding has the value of missing candidates."""
    table = random_table(seed, 400, depth, dtype)
    x = np.random.default_rng(seed).standard_normal((rows, depth)).astype(np.float32)
    check(program, *table, x, chosen_pieces(seed, 400, count), Guards(misaligned))


@given(SEEDS, st.integers(1, 60), depths, dtypes)
@settings(deadline=None)
def test_logits_are_those_of_the_definition(program, seed, count, depth, dtype):
    rows, vectors = random_table(seed, 80, depth, dtype)
    x = np.random.default_rng(seed).standard_normal((2, depth)).astype(np.float32)
    pieces = chosen_pieces(seed, 80, count)
    begun, given_x, row_scales = vectors, x, None
    if dtype == np.int8:
        q, scales, shifts = quantize_rows_reference(x)
        given_x, row_scales = q, np.stack([scales, shifts], axis=1)
        # corrects the offset of stored activations
        start = vectors["start"] - isa.activation_offset() * rows.sum(axis=1, dtype=np.int32)
        begun = vectors | {"start": start.astype(np.int32)}
    elif dtype == np.int16:
        given_x, row_scales = _operands(program, Guards(), x, dtype)
    expected = row_products_reference(rows, vectors, given_x, row_scales, pieces)
    made = score(program, rows, begun, x, pieces)[:, :count]
    assert np.allclose(made, expected, rtol=1e-5, atol=1e-5 * (np.abs(expected).max() + 1))


@pytest.mark.parametrize("dtype", SCHEMES, ids=str)
@pytest.mark.parametrize("depth", [16, 32, 48, 64, 80, 112, 256, 272, 1008])
def test_nothing_is_read_beyond_the_last_row(program, dtype, depth):
    """Nor beyond any other operand: each array ends at the end of its memory, as in a mapped file."""
    x = np.random.default_rng(depth).standard_normal((2, depth)).astype(np.float32)
    table = random_table(depth, 40, depth, dtype)
    for pieces in ([39], [*range(23, 40)], [*range(8, 40)]):
        check(program, *table, x, np.array(pieces, np.int32), Pages())


@pytest.mark.parametrize("dtype", SCHEMES, ids=str)
def test_a_table_of_one_piece(program, dtype):
    x = np.random.default_rng(1).standard_normal((3, 64)).astype(np.float32)
    check(program, *random_table(1, 1, 64, dtype), x, np.zeros(1, np.int32), Pages())


@pytest.mark.parametrize("dtype", SCHEMES, ids=str)
def test_rows_longer_than_what_is_prefetched(program, dtype):
    depth = AHEAD + 16
    x = np.random.default_rng(1).standard_normal((1, depth)).astype(np.float32)
    rows, vectors = random_table(1, 40, depth, dtype)
    check(program, rows % 64 if dtype == np.int16 else rows, vectors, x, np.arange(3, 40, 2, dtype=np.int32))


@pytest.mark.parametrize("value", [127, -127])
def test_the_largest_magnitudes(program, value):
    """Extreme weights and activations would saturate the 16-bit sums of some instruction sets."""
    rows, vectors = random_table(1, 40, 512, np.int8)
    rows[:] = value
    for x in (np.full((1, 512), -1, np.float32), np.full((1, 512), 1, np.float32)):
        x[0, ::3] *= -1
        check(program, rows, vectors, x, np.arange(2, 40, 2, dtype=np.int32))


@pytest.mark.parametrize("dtype", SCHEMES, ids=str)
@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan, np.finfo(np.float32).max])
def test_a_row_that_is_not_finite_scores_as_it_does_elsewhere(program, dtype, number):
    x = np.random.default_rng(1).standard_normal((1, 64)).astype(np.float32)
    x[0, 5], x[0, 40] = number, -number
    rows, vectors = random_table(1, 90, 64, dtype)
    vectors["bias"][30:60] = number
    made = score(program, rows, vectors, x, np.arange(90, dtype=np.int32))
    assert not np.isnan(made).any()
    assert same_bits(np.ascontiguousarray(made[:, :90]), gathered(program, rows, vectors, x, np.arange(90, dtype="i")))


@pytest.mark.parametrize("dtype", SCHEMES, ids=str)
def test_pieces_in_any_order_and_twice(program, dtype):
    """Ascending order is only faster."""
    generator = np.random.default_rng(3)
    x = generator.standard_normal((2, 96)).astype(np.float32)
    check(program, *random_table(3, 50, 96, dtype), x, generator.integers(0, 50, 70).astype(np.int32))


@given(SEEDS, st.integers(2, 12), dtypes)
@settings(deadline=None)
def test_a_row_does_not_depend_on_the_others(program, seed, rows, dtype):
    table = random_table(seed, 60, 80, dtype)
    x = np.random.default_rng(seed).standard_normal((rows, 80)).astype(np.float32)
    pieces = chosen_pieces(seed, 60, 37)
    check_independent(seed, rows, lambda part: [score(program, *table, x[part], pieces)])


def test_entries_hold_the_vectors_of_each_piece():
    """In the order of the record, side by side: 16 bytes a piece; missing values are 0."""
    numbers = np.arange(5, dtype=np.float32)
    made = entries(numbers + 20, numbers, numbers + 10, np.arange(5, dtype=np.int32) - 3)
    assert made.nbytes == 80
    assert made[2].tolist() == (2.0, 12.0, 22.0, -1)
    assert entries(numbers)[4].tolist() == (0.0, 0.0, 4.0, 0)
