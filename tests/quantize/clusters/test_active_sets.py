"""Active sets: what the members of a cluster find best, and </s>; how much they cover."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quantize.clusters import active_sets
from quantize.clusters.active_sets import Coverage, clusters_of, coverage
from quantize.clusters.states import Step
from tests.sample_models.transformers import make_config

CONFIG = make_config(vocab_size=40)  # </s> is 0
CENTROIDS = np.array([[0, 0], [100, 100], [4, 0]], np.float32)
STATES = np.array([[1, 1], [3, 0], [0, -1], [5, 5]], np.float32)
BEST = np.array([[7, 3], [9, 3], [7, 39], [2, 0]], np.int32)


def step_of(states, best):
    return Step(np.zeros(len(states), np.int64), states, best)


PLANTED = step_of(STATES, BEST)


def test_a_planted_example():
    clusters = clusters_of(CONFIG, CENTROIDS, [PLANTED])
    assert clusters.centroids.tolist() == [[0, 0], [4, 0]]  # the second has no members
    assert [clusters.active(c).tolist() for c in (0, 1)] == [[0, 3, 7, 39], [0, 2, 3, 9]]
    assert (clusters.ids.dtype, clusters.offsets.dtype, clusters.vocab_size) == (np.int32, np.int64, 40)


def test_coverage_by_hand():
    clusters = clusters_of(CONFIG, CENTROIDS, [PLANTED])
    steps = [
        step_of(np.array([[0, 0], [9, 9]], np.float32), np.array([[39, 8], [39, 2]], np.int32)),
        step_of(np.array([[5, 0]], np.float32), np.array([[0, 30]], np.int32)),
    ]
    assert coverage(clusters, steps) == Coverage(3, 2 / 3, 4 / 40)


@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(1, 4))
def test_sets_are_the_unions_of_their_members_pieces(seed, count, top):
    generator = np.random.default_rng(seed)
    centroids = generator.integers(-5, 6, (count, 3)).astype(np.float32)
    states = generator.integers(-5, 6, (60, 3)).astype(np.float32)
    best = generator.integers(0, 40, (60, top)).astype(np.int32)
    steps = [step_of(states[begin : begin + 7], best[begin : begin + 7]) for begin in range(0, 60, 7)]
    clusters = clusters_of(CONFIG, centroids, steps)
    members = ((states[:, None] - centroids) ** 2).sum(axis=2).argmin(axis=1)
    expected = [sorted({0, *best[members == c].ravel().tolist()}) for c in range(count) if (members == c).any()]
    assert [clusters.active(c).tolist() for c in range(len(expected))] == expected
    measured = coverage(clusters, [step_of(states, best)])
    assert measured.covered == 1 and measured.states == 60
    sizes = dict(zip(np.unique(members).tolist(), map(len, expected), strict=True))
    assert measured.active == pytest.approx(np.mean([sizes[c] for c in members.tolist()]) / 40)


def test_many_states_are_taken_in_part_by_part(monkeypatch):
    generator = np.random.default_rng(3)
    centroids = generator.normal(size=(7, 3)).astype(np.float32)
    steps = [
        step_of(generator.normal(size=(9, 3)).astype(np.float32), generator.integers(0, 40, (9, 3)).astype(np.int32))
        for _ in range(20)
    ]
    whole = clusters_of(CONFIG, centroids, steps)
    monkeypatch.setattr(active_sets, "_WAITING", 50)
    parts = clusters_of(CONFIG, centroids, iter(steps))
    assert np.array_equal(whole.ids, parts.ids) and np.array_equal(whole.offsets, parts.offsets)
