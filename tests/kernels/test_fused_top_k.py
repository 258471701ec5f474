"""Log-sum-exp and top k of a row in blocks: the bits of those of the whole row."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.kernels.records import BLOCK, WANTED
from cpunmt.kernels.softmax import LOWEST
from tests.definitions.kernels import log_sum_exp_reference, top_k_reference
from tests.support.float_steps import same_bits
from tests.support.guarded import Guards


def take(program, scores, cuts, guard, k=0, only=-1, barred=(-1, -1), normalized=True):
    """Returns (columns, scores, end) of float32 scores [a multiple of 16], in blocks that begin at `cuts`."""
    columns, values = guard.empty(max(k, 1), np.int64), guard.empty(max(k, 1), np.float32)
    wanted = np.zeros(1, WANTED)
    wanted["k"], wanted["only"], wanted["normalized"] = k, only, normalized
    wanted["barred"], wanted["also_barred"] = barred
    wanted["columns"], wanted["scores"] = columns.ctypes.data, values.ctypes.data
    program.begin_row(wanted)
    for begin, end in zip(cuts, [*cuts[1:], len(scores)], strict=True):
        program.take_scores(wanted, guard.copy(scores[begin:end]), begin, end - begin)
    end = program.end_row(wanted)
    guard.check()
    found = int(wanted["found"][0])
    return columns[:found].copy(), values[:found].copy(), end


@st.composite
def rows(draw):
    """Draws scores, some of which are equal, in blocks."""
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scores = generator.standard_normal(16 * draw(st.integers(1, 80))).astype(np.float32)
    scores = scores * np.float32(draw(st.sampled_from([0.1, 3, 40, 1000])))
    if draw(st.booleans()):
        scores = np.round(scores)
    if draw(st.booleans()):
        scores.sort()  # each block is above the one before
    scores[len(scores) - draw(st.integers(0, 15)) :] = LOWEST
    blocks = range(BLOCK, len(scores), BLOCK)
    cuts = draw(st.sets(st.sampled_from(blocks))) if blocks else ()
    return scores, [0, *sorted(cuts)]


@given(rows(), st.integers(1, 70), st.booleans(), st.data())
@settings(deadline=None)
def test_equals_the_whole_row(program, row, k, normalized, data):
    scores, cuts = row
    barred = data.draw(st.tuples(*[st.one_of(st.just(-1), st.integers(0, len(scores) - 1))] * 2))
    columns, values, end = take(program, scores, cuts, Guards(4), k, -1, barred, normalized)
    kept = scores.copy()
    kept[[column for column in barred if column >= 0]] = LOWEST
    if (kept > LOWEST).any():
        assert columns.tolist() == top_k_reference(kept, k).tolist()
    else:
        assert columns.tolist() == [0]
    assert same_bits(values, kept[columns])
    expected = program.log_sum_exp(scores, len(scores)) if normalized else values[0]
    assert same_bits(np.float32(end), np.float32(expected))


@given(rows(), st.data())
@settings(deadline=None)
def test_finds_the_score_of_one_column(program, row, data):
    scores, cuts = row
    only = data.draw(st.integers(0, len(scores) - 1))
    columns, values, end = take(program, scores, cuts, Guards(36), only=only)
    assert columns.tolist() == [only] and same_bits(values, scores[[only]])
    assert same_bits(np.float32(end), np.float32(program.log_sum_exp(scores, len(scores))))


@given(rows())
@settings(deadline=None)
def test_no_score_is_above_the_log_sum_exp(program, row):
    """Early stopping depends on this; the sum is right even if the largest score comes late."""
    scores, cuts = row
    end = np.float32(take(program, scores, cuts, Guards(0), 1)[2])
    assert end >= scores.max()
    assert abs(end - log_sum_exp_reference(scores)) <= 2e-6 + 1.5e-7 * abs(float(scores.max()))


@pytest.mark.parametrize("value", [np.nan, -np.inf, LOWEST, np.inf])
@pytest.mark.parametrize("k", [1, 5])
def test_no_number_leads_nowhere_else(program, k, value):
    scores = np.full(2 * BLOCK + 16, value, np.float32)
    columns, _, _ = take(program, scores, [0, BLOCK], Guards(0), k)
    assert 1 <= len(columns) <= k and ((columns >= 0) & (columns < len(scores))).all()
