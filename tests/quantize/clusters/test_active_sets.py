"""Active sets: a cluster's most probable pieces by its members, and </s>; and their coverage."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quantize.clusters import active_sets
from quantize.clusters.active_sets import BORDER, Coverage, clusters_of, coverage, nearest, probabilities
from quantize.clusters.states import Step
from tests.sample_models.transformers import make_config

CONFIG = make_config(vocab_size=40)  # </s> is 0
CENTROIDS = np.array([[0, 0], [100, 100], [4, 0]], np.float32)
STATES = np.array([[1, 1], [3, 0], [0, -1], [5, 5]], np.float32)
BEST = np.array([[7, 3], [9, 3], [7, 39], [2, 0]], np.int32)
LOGITS = np.log(np.array([[0.75, 0.25], [0.9, 0.1], [0.5, 0.5], [0.6, 0.4]], np.float32))


def step_of(states, best, logits=None, sentences=None):
    logits = np.zeros(best.shape, np.float32) if logits is None else logits
    return Step(np.zeros(len(states), np.int64) if sentences is None else sentences, states, best, logits)


PLANTED = step_of(STATES, BEST, LOGITS)


def sets(clusters):
    return [clusters.active(c).tolist() for c in range(len(clusters.centroids))]


def test_a_planted_example():
    clusters = clusters_of(CONFIG, CENTROIDS, [PLANTED])
    assert clusters.centroids.tolist() == [[0, 0], [4, 0]]  # the second has no members
    assert sets(clusters) == [[0, 3, 7, 39], [0, 2, 3, 9]]
    assert (clusters.ids.dtype, clusters.offsets.dtype, clusters.vocab_size) == (np.int32, np.int64, 40)


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        (1, [[0], [0]]),
        (1.49, [[0], [0]]),  # both clusters have two of the four members: a pair makes half a piece in the mean
        (1.5, [[0, 7], [0]]),  # 0.625 of 7 in the first, 0.45 of 9 in the second
        (1.99, [[0, 7], [0]]),
        (2, [[0, 7], [0, 9]]),
        (2.5, [[0, 7], [0, 2, 9]]),
        (3, [[0, 7, 39], [0, 2, 9]]),
        (3.5, [[0, 3, 7, 39], [0, 2, 9]]),
        (4, [[0, 3, 7, 39], [0, 2, 3, 9]]),
    ],
)
def test_the_most_probable_pieces_are_taken_while_there_is_room(pieces, expected):
    assert sets(clusters_of(CONFIG, CENTROIDS, [PLANTED], (pieces + 1e-9) / 40)) == expected


def test_coverage_by_hand():
    clusters = clusters_of(CONFIG, CENTROIDS, [PLANTED])
    rows = [
        ([[0, 0], [9, 9]], [[39, 8], [39, 2]], [0, 1]),
        ([[5, 0]], [[0, 30]], [2]),
        ([[5, 0]], [[0, 30]], [1]),
    ]
    steps = [step_of(np.array(x, np.float32), np.array(y, np.int32), sentences=np.array(z)) for x, y, z in rows]
    assert coverage(clusters, steps) == Coverage(4, 3 / 4, 1 - 1 / 3, 4 / 40)


def test_probabilities_are_a_softmax():
    logits = np.array([[0.5, 0.25, -3], [80, 80, -80], [2, -np.inf, -np.inf]], np.float32)
    expected = np.exp(logits.astype(np.float64))
    assert np.allclose(probabilities(logits), expected / expected.sum(axis=1, keepdims=True), rtol=1e-12)
    assert probabilities(logits)[2].tolist() == [1, 0, 0]


def random_rows(seed, count, top):
    generator = np.random.default_rng(seed)
    centroids = generator.integers(-5, 6, (count, 3)).astype(np.float32)
    states = generator.integers(-5, 6, (60, 3)).astype(np.float32)
    best = generator.permuted(np.tile(np.arange(40, dtype=np.int32), (60, 1)), axis=1)[:, :top]
    logits = -np.sort(-generator.normal(0, 2, (60, top))).astype(np.float32)
    return centroids, states, best, logits


def parts(states, best, logits):
    return [step_of(*(rows[begin : begin + 7] for rows in (states, best, logits))) for begin in range(0, 60, 7)]


@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(1, 4))
def test_without_a_limit_sets_are_the_unions_of_their_members_pieces(seed, count, top):
    centroids, states, best, logits = random_rows(seed, count, top)
    clusters = clusters_of(CONFIG, centroids, parts(states, best, logits))
    members = ((states[:, None] - centroids) ** 2).sum(axis=2).argmin(axis=1)
    expected = [sorted({0, *best[members == c].ravel().tolist()}) for c in range(count) if (members == c).any()]
    assert sets(clusters) == expected
    measured = coverage(clusters, [step_of(states, best)])
    assert measured.covered == measured.sentences == 1 and measured.states == 60
    sizes = dict(zip(np.unique(members).tolist(), map(len, expected), strict=True))
    assert measured.active == pytest.approx(np.mean([sizes[c] for c in members.tolist()]) / 40)


def defined(centroids, states, best, logits, active, near):
    """Returns sets by their definition: {cluster with members: pieces}."""
    distances = ((states[:, None] - centroids) ** 2).sum(axis=2)
    order = np.argsort(distances, axis=1, kind="stable")[:, :near]
    members = np.bincount(order[:, 0], minlength=len(centroids))
    shares = np.exp(logits.astype(np.float64))
    shares /= shares.sum(axis=1, keepdims=True)
    rates = np.zeros((len(centroids), 40))
    for row in range(len(states)):
        for place, cluster in enumerate(order[row]):
            rates[cluster, best[row]] += shares[row] * (1 if place == 0 else BORDER)
    with np.errstate(invalid="ignore", divide="ignore"):
        rates /= members[:, None]
    found = {c: {0} for c in np.flatnonzero(members)}
    pairs = [(rates[c, i], c, i) for c in found for i in range(1, 40) if rates[c, i] > 0]
    spent = int(members.sum())
    for _, c, i in sorted(pairs, key=lambda pair: (-pair[0], pair[1:])):
        spent += int(members[c])
        if spent > active * 40 * len(states):
            break
        found[c].add(i)
    return [sorted(found[c]) for c in sorted(found)], np.sort([rate for rate, _, _ in pairs])


@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(1, 4), st.floats(0.001, 1), st.integers(1, 10))
def test_sets_are_as_defined(seed, count, top, active, near):
    rows = random_rows(seed, count, top)
    expected, rates = defined(*rows, active, near)
    clusters = clusters_of(CONFIG, rows[0], parts(*rows[1:]), active, near)
    with pytest.MonkeyPatch.context() as patch:  # of many pairs, equal ones are joined now and then
        patch.setattr(active_sets, "_WAITING", 20)
        joined = clusters_of(CONFIG, rows[0], parts(*rows[1:]), active, near)
    assert np.array_equal(joined.ids, clusters.ids) and np.array_equal(joined.offsets, clusters.offsets)
    if np.diff(rates).min(initial=1) > 1e-12:  # the order of nearly equal ones depends on that of a sum
        assert sets(clusters) == expected
    measured = coverage(clusters, [step_of(*rows[1:])])
    assert measured.active <= max(active, 1 / 40) + 1e-12


@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(1, 12))
def test_nearest_clusters_are_those_of_the_least_distances(seed, count, near):
    centroids, states, _, _ = random_rows(seed, count, 1)
    empty = clusters_of(CONFIG, centroids, [step_of(centroids, np.zeros((count, 1), np.int32))])
    found = nearest(empty, states, near)
    distances = ((states[:, None] - empty.centroids) ** 2).sum(axis=2)
    assert np.array_equal(found, np.argsort(distances, axis=1, kind="stable")[:, :near])
    assert np.array_equal(found[:, 0], empty.nearest(states))
