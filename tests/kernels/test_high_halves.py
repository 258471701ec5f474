"""Bounds by the upper halves of 8-bit weights: their operands equal the definition, and no score leaves its bound."""

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cpunmt.kernels import records
from cpunmt.kernels.high_halves import SPARE, UNBOUNDED
from cpunmt.kernels.matmul.int8_matmul import AFFINE
from cpunmt.kernels.matmul.packing import HALF_LEVELS, pack, pack_codes, unpack_codes
from cpunmt.kernels.matmul.quantize_rows import PLANES
from cpunmt.kernels.softmax import LOWEST
from cpunmt.simd import isa
from tests.definitions.matmul import quantize_rows_reference
from tests.kernels.rows import SEEDS
from tests.support.guarded import Guards

depths = st.integers(1, 20).map(lambda n: 16 * n)


def random_table(seed, pieces, depth):
    """Draws int8 rows [pieces, depth] and their vectors: float32 scales and biases."""
    generator = np.random.default_rng(seed)
    rows = generator.integers(-127, 128, (pieces, depth), np.int8)
    rows[0], rows[-1] = 8, -127  # one whose levels leave nothing of it, one whose levels are the lowest
    scales = generator.lognormal(-6, 1, pieces).astype(np.float32)
    return rows, scales, generator.standard_normal(pieces).astype(np.float32)


def split_reference(rows, scales):
    """Returns codes, sums of the levels, and reach of each column, as the docstring of kernels/high_halves has them."""
    numbers = (rows.astype(np.int64) + 128) // 16
    levels = 16 * numbers - 120
    rest = rows - levels
    assert rest.min() >= -8 and rest.max() <= 7 and (HALF_LEVELS[numbers] == levels).all()
    lengths = np.sqrt((rest**2).sum(axis=1))
    return numbers.astype(np.uint8), levels.sum(axis=1), scales * np.maximum(lengths, 1)


class Split:
    """A table and its HALVES in guarded memory."""

    def __init__(self, program, rows, scales, bias):
        self.program, self.guard = program, Guards()
        pieces, depth = rows.shape
        panels = -(-pieces // 16)
        self.table, self.halves = np.zeros(1, records.TABLE), np.zeros(1, records.HALVES)
        self.table["scheme"] = records.INT8
        for name, array in (("rows", rows), ("scales", scales), ("bias", bias)):
            self.table[name] = self.guard.copy(array).ctypes.data
        high = self.halves[0]["high"]
        high["scheme"], high["depth"], high["panels"] = records.INT8, depth, panels
        high["levels"] = HALF_LEVELS.ctypes.data
        self.codes = self.guard.empty((panels, depth // 8, 16, 4), np.uint8)
        self.start = self.guard.empty(16 * panels, np.int32)
        floats = {name: self.guard.empty(16 * panels, np.float32) for name in ("scales", "totals", "bias")}
        self.totals, self.bias, self.reach = floats["totals"], floats["bias"], self.guard.empty(16 * panels, np.float32)
        high["codes"], high["start"] = self.codes.ctypes.data, self.start.ctypes.data
        for name, array in floats.items():
            high[name] = array.ctypes.data
        self.halves[0]["reach"] = self.reach.ctypes.data
        pointers, packed = self.guard.empty(16, np.int64), self.guard.empty(16 * depth, np.int8)
        program.split_halves(self.table, pieces, depth, pointers, packed, self.halves)
        self.guard.check()

    def scores(self, x):
        """Returns float32 scores [columns] of x [depth] by the levels, and the distance of its bounds.

        Where codes are no faster than int8, a product reads the levels instead.
        """
        depth, columns = len(x), len(self.reach)
        levels = pack(HALF_LEVELS[unpack_codes(self.codes, columns)])
        self.halves[0]["high"]["weights"] = levels.ctypes.data
        q, row_scale = np.empty(PLANES * depth, np.uint8), np.empty(2, np.float32)
        self.program.quantize_rows(x, 1, depth, 0.0, q, row_scale)
        made = np.empty(columns, np.float32)
        self.program.linear(self.halves[0]["high"].reshape(1), x, q, row_scale, 1, made, AFFINE, 0)
        return made, self.program.distance_of(x, depth, row_scale)


@given(SEEDS, st.integers(1, 70), depths)
@example(1, 16, 64)
@settings(deadline=None)
def test_the_operands_are_those_of_the_definition(program, seed, pieces, depth):
    rows, scales, bias = random_table(seed, pieces, depth)
    made = Split(program, rows, scales, bias)
    codes, sums, reach = split_reference(rows, scales)
    padded = np.minimum(np.arange(len(made.reach)), pieces - 1)  # the weights of the last column again
    assert (made.codes == pack_codes(np.ascontiguousarray(codes[padded].T))).all()
    assert (made.start == -isa.activation_offset() * sums[padded]).all()
    assert (made.totals[:pieces] == scales * sums.astype(np.float32)).all() and (made.totals[pieces:] == 0).all()
    assert (made.bias[:pieces] == bias).all() and (made.bias[pieces:] == LOWEST).all()
    assert np.allclose(made.reach[:pieces], reach * SPARE, rtol=1e-6) and (made.reach[:pieces] >= reach).all()


def test_a_row_whose_squares_vanish_has_no_bound(program):
    x, row_scale = np.full(64, 1e-23, np.float32), np.ones(2, np.float32)
    assert program.distance_of(x, 64, row_scale) == np.inf
    assert program.distance_of(x * np.float32(1e10), 64, row_scale) < 100


@given(SEEDS, depths, st.sampled_from([1e-3, 1.0, 1e4]), st.booleans())
@settings(deadline=None)
def test_scores_lie_between_their_bounds(program, seed, depth, size, outlier):
    """The worst: a row that is proportional to what the levels leave of a column."""
    rows, scales, bias = random_table(seed, 40, depth)
    made = Split(program, rows, scales, bias)
    generator = np.random.default_rng(seed)
    rest = rows - HALF_LEVELS[(rows.astype(np.int64) + 128) // 16]
    for x in (generator.standard_normal(depth), rest[3], rest[-1], -rest[-1]):
        x = (size * x).astype(np.float32)
        x[0] *= 1000 if outlier else 1
        q, (scale,), (shift,) = quantize_rows_reference(x[None])
        exact = ((q[0].astype(np.float64) * scale + shift) @ rows.T) * scales + bias
        by_levels, distance = made.scores(x)
        apart = np.abs(exact - by_levels[:40])
        assert (apart <= made.reach[:40] * distance + np.abs(by_levels[:40]) * 2.0**-21).all()
        # and they are of use: not much further apart than Cauchy and Schwarz allow
        assert distance <= 1.01 * np.linalg.norm(x) + depth * scale


def left_of(program, scores, reach, distance, blocks, count=790):
    """Returns the columns that `keep_possible` and `drop_impossible` leave, and the bound."""
    left = np.zeros(1, records.POSSIBLE)
    pieces, most = np.empty(len(scores), np.int32), np.empty(len(scores), np.float32)
    left["pieces"], left["most"], left["least"] = pieces.ctypes.data, most.ctypes.data, -3e38
    first = 0
    for block in blocks:
        part, near = scores[first : first + block].copy(), np.ascontiguousarray(reach[first : first + block])
        program.keep_possible(left, part, near, distance, first, len(part))
        first += block
    program.drop_impossible(left, count)
    return pieces[: left["count"][0]].tolist(), left["least"][0]


@given(SEEDS, st.sampled_from([0.0, 0.01, 1.0]), st.booleans())
@settings(deadline=None)
def test_columns_that_cannot_win_are_dropped(program, seed, distance, odd):
    generator = np.random.default_rng(seed)
    scores, reach = generator.standard_normal(800).astype(np.float32), generator.random(800, np.float32)
    if odd:
        scores[[3, 500, 700]] = np.nan, np.inf, -2 * UNBOUNDED
    far = np.where(np.abs(scores) < UNBOUNDED, reach * distance + np.abs(scores) * np.float32(2.0**-21), np.inf)
    with np.errstate(invalid="ignore"):
        least = np.fmax.reduce(scores - far)
        expected = np.flatnonzero(~(scores + far < least)[:790]).tolist()  # the others are padding
    made, bound = left_of(program, scores, reach, distance, (512, 288))
    assert abs(bound - least) <= 1e-6 * abs(least)
    assert set(expected) - set(made) == set() and len(made) - len(expected) <= 1  # the last bit of a sum
    assert made == sorted(made) and (not odd or {3, 500, 700} <= set(made))
