"""Softmax of rows and columns, and the log-sum-exp."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.kernels.softmax import LOWEST
from tests.definitions.kernels import log_sum_exp_reference, softmax_rows_reference
from tests.kernels.rows import MISALIGNED, ROWS, SEEDS, check_independent
from tests.support.float_steps import UNIT, same_bits
from tests.support.guarded import Guards

EXP = 2e-7  # relative error of exp: kernels/activations


def softmax(program, scores, factor, misaligned=0, apart=0):
    """Computes softmax_rows of float32 [rows, length], with `apart` extra floats between rows."""
    rows, length = scores.shape
    guard = Guards(misaligned)
    padded = -(-length // 16) * 16
    room = guard.empty((rows, padded + apart), np.float32)
    room[:, :length] = scores
    between = room[:, padded:].copy()
    program.softmax_rows(room, rows, padded + apart, length, factor, guard.empty(rows, np.float32))
    guard.check()
    assert same_bits(room[:, padded:].copy(), between)
    return room[:, :length].copy()


def softmax_columns(program, scores, factor, misaligned=0):
    guard = Guards(misaligned)
    made = guard.empty(scores.shape, np.float32)
    made[:] = scores
    program.softmax_columns(made, len(scores), scores.shape[1] // 16, factor)
    guard.check()
    return made.copy()


def roundings(length):
    """Returns the roundings in a sum of `length` numbers in sixteen lanes and a tree."""
    return -(-length // 16) + 4


@given(SEEDS, st.integers(1, 20), ROWS, st.floats(0.0625, 2, width=32), st.floats(0.1, 30), MISALIGNED)
@settings(deadline=None)
def test_softmax_rows_equals_its_reference(program, seed, rows, length, factor, spread, misaligned):
    scores = (np.random.default_rng(seed).standard_normal((rows, length)) * spread).astype(np.float32)
    expected = softmax_rows_reference(scores, factor)
    made = softmax(program, scores, factor, misaligned, apart=seed % 3)
    # exp's argument is rounded twice (difference, product), which exp makes a relative error;
    # arguments below -87 count as -87
    argument = factor * np.ptp(scores.astype(np.float64), axis=1, keepdims=True)
    relative = 2 * (EXP + 2 * UNIT * argument) + (roundings(length) + 3) * UNIT
    assert (np.abs(made - expected) <= relative * expected + 1.00001 * np.exp(-87.0)).all()
    assert (abs(made.sum(axis=1, dtype=np.float64) - 1) <= (roundings(length) + 4) * UNIT).all()


@given(SEEDS, ROWS, st.integers(1, 4), st.floats(0.0625, 2, width=32), st.floats(0.1, 30), MISALIGNED)
@settings(deadline=None)
def test_softmax_columns_equals_its_reference(program, seed, rows, panels, factor, spread, misaligned):
    scores = (np.random.default_rng(seed).standard_normal((rows, 16 * panels)) * spread).astype(np.float32)
    expected = softmax_rows_reference(scores.T, factor).T
    made = softmax_columns(program, scores, factor, misaligned)
    argument = factor * np.ptp(scores.astype(np.float64), axis=0)
    relative = 2 * (EXP + 2 * UNIT * argument) + (rows + 3) * UNIT
    assert (np.abs(made - expected) <= relative * expected + 1.00001 * np.exp(-87.0)).all()


@given(SEEDS, st.integers(2, 20), ROWS)
@settings(deadline=None)
def test_a_softmax_row_does_not_depend_on_the_others(program, seed, rows, length):
    scores = np.random.default_rng(seed).standard_normal((rows, length)).astype(np.float32)
    check_independent(seed, rows, lambda part: [softmax(program, scores[part], 0.5, apart=16 * (part.stop is None))])


@pytest.mark.parametrize("length", [1, 15, 16, 17, 33])
@pytest.mark.parametrize("value", [0.0, -2.9e38, 3.0e38, 5.5])
def test_equal_scores_share_equally(program, length, value):
    made = softmax(program, np.full((1, length), value, np.float32), 0.25)
    assert np.abs(made * length - 1).max() <= 2 * (roundings(length) + 2) * UNIT
    assert (made == made[0, 0]).all()


def test_a_winner_takes_all(program):
    scores = np.full((1, 40), -3e38, np.float32)
    scores[0, 17] = 3e38
    made = softmax(program, scores, 1.0)
    assert made[0, 17] == 1 and np.delete(made, 17).max() < 2e-38


def padded_scores(scores, guard):
    room = guard.empty(-(-len(scores) // 16) * 16, np.float32)
    room[:] = LOWEST
    room[: len(scores)] = scores
    return room


@given(SEEDS, st.integers(1, 700), st.floats(0.1, 30), st.floats(-1e4, 1e4), MISALIGNED)
@settings(deadline=None)
def test_log_sum_exp_equals_its_reference(program, seed, length, spread, offset, misaligned):
    scores = (np.random.default_rng(seed).standard_normal(length) * spread + offset).astype(np.float32)
    guard = Guards(misaligned)
    room = padded_scores(scores, guard)
    made = program.log_sum_exp(room, len(room))
    guard.check()
    expected = log_sum_exp_reference(scores)
    argument = min(87, np.abs(scores.astype(np.float64) - scores.max()).max())
    inside = EXP + UNIT * argument + roundings(length) * UNIT + length * np.exp(-87.0)
    assert abs(made - expected) <= inside + UNIT * abs(expected) + 1e-12


@pytest.mark.parametrize("place", [0, 1, 15, 16, 40, 47])
def test_the_largest_counts_wherever_it_stands(program, place):
    """In any vector and lane: 100 below it is nothing; 100 above a wrong maximum would overflow."""
    scores = np.full(48, 100, np.float32)
    scores[place] = 200
    assert program.log_sum_exp(padded_scores(scores, Guards(0)), 48) == 200
    expected = np.eye(48, dtype=np.float32)[place]
    assert np.abs(softmax(program, scores[None], 1.0)[0] - expected).max() < 1e-30
    assert (
        np.abs(softmax_columns(program, np.repeat(scores[:, None], 32, axis=1), 1.0) - expected[:, None]).max() < 1e-30
    )


@pytest.mark.parametrize("below", [-np.inf, -60, -16.5])
def test_the_log_sum_exp_is_not_below_the_largest(program, below):
    """Otherwise a log-probability would be above 0: for any size of the largest, beside negligible scores."""
    largest = np.geomspace(1e-7, 1e4, 5000).astype(np.float32)
    wrong = []
    for score in np.concatenate([largest, -largest]):
        others = np.float32(max(float(score) + below, LOWEST))
        room = padded_scores(np.array([score, others], np.float32), Guards(0))
        if not program.log_sum_exp(room, len(room)) >= score:
            wrong.append(score)
    assert wrong == []
