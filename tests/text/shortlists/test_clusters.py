"""Clusters: the nearest centroid and its pieces, and invalid arrays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.errors import ModelFileError
from cpunmt.text.shortlists.clusters import MOST_CLUSTERS, Clusters

EOS = 2


def clusters_of(centroids, sets, size=30, **others):
    sets = [sorted({*ids, EOS}) for ids in sets]
    offsets = np.cumsum([0, *map(len, sets)], dtype=np.int64)
    ids = np.array([id_ for ids in sets for id_ in ids], np.int32)
    return Clusters(np.array(centroids, np.float32), offsets, ids, size, EOS, **others)


def test_the_nearest_by_hand():
    clusters = clusters_of([[1, 0], [-1, 0], [3, 0]], [[5], [7, 1], []])
    states = np.array([[0.1, 9], [-0.1, 9], [1.9, 0], [2.1, 0], [-50, 0]], np.float32)
    assert clusters.nearest(states).tolist() == [0, 1, 0, 2, 1]
    assert [clusters.active(c).tolist() for c in range(3)] == [[2, 5], [1, 2, 7], [2]]
    assert clusters.sizes.tolist() == [2, 3, 1] and clusters.half_norms.tolist() == [0.5, 0.5, 4.5]
    assert clusters.half_norms.dtype == np.float32


def test_of_equally_near_ones_the_first_counts():
    clusters = clusters_of([[0, 2], [1, 0], [-1, 0], [1, 0]], [[]] * 4)
    assert clusters.nearest(np.array([[0, 0], [5, 0]], np.float32)).tolist() == [1, 1]


@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.sampled_from([1, 5, 4096, 5000]))
def test_the_nearest_has_the_least_distance(seed, count, rows):
    generator = np.random.default_rng(seed)
    centroids, states = generator.integers(-9, 10, (count, 4)), generator.integers(-9, 10, (rows, 4))
    distances = ((states[:, None] - centroids) ** 2).sum(axis=2)  # whole numbers are exact, with many ties
    found = clusters_of(centroids, [[]] * count).nearest(states.astype(np.float32))
    assert np.array_equal(found, distances.argmin(axis=1))


@given(st.lists(st.sets(st.integers(0, 29)), min_size=1, max_size=6))
def test_what_a_cluster_contains(sets):
    clusters = clusters_of(np.zeros((len(sets), 3)), sets)
    pairs = np.array([(c, piece) for c in range(len(sets)) for piece in range(30)])
    found = clusters.contain(pairs[:, 0], pairs[:, 1].astype(np.int32))
    assert found.tolist() == [piece in sets[c] or piece == EOS for c, piece in pairs.tolist()]


GOOD = {
    "centroids": np.ones((2, 3), np.float32),
    "offsets": np.array([0, 2, 4], np.int64),
    "ids": np.array([2, 5, 1, 2], np.int32),
}


def test_the_example_is_sound():
    assert Clusters(**GOOD, vocab_size=6, eos_id=EOS).active(1).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("part", "values", "message"),
    [
        ("centroids", np.zeros((0, 3)), "0 centroids, expected 1 to 65536"),
        ("centroids", np.zeros((MOST_CLUSTERS + 1, 1)), "65537 centroids"),
        ("centroids", np.zeros((3, 3)), "3 offsets for 3 centroids, expected 4"),
        ("centroids", [[0, 0, 0], [0, np.nan, 0]], "centroid 1 is not finite"),
        ("centroids", [[0, np.inf, 0], [0, 0, 0]], "centroid 0 is not finite"),
        ("centroids", [[1, 2, 3], [0, 3e19, 0]], "centroid 1 is not finite, or as good as infinitely long"),
        ("offsets", [1, 2, 4], "offsets must rise from 0 to the number of ids, 4"),
        ("offsets", [0, 2, 3], "offsets must rise"),
        ("offsets", [0, 5, 4], "offsets must rise"),
        ("offsets", [0, -1, 4], "offsets must rise"),
        ("ids", [2, 6, 1, 2], "target ids from 1 to 6, expected 0 to 5"),
        ("ids", [-1, 2, 1, 2], "target ids from -1 to 2"),
        ("ids", [2, 2, 1, 2], "the target ids of a cluster are not ascending"),
        ("ids", [2, 5, 2, 1], "the target ids of a cluster are not ascending"),
        ("ids", [2, 5, 1, 3], "cluster 1 lacks </s>, piece 2"),
        ("ids", [1, 5, 1, 3], "cluster 0 lacks </s>, piece 2"),
    ],
)
def test_arrays_that_are_no_clusters(part, values, message):
    arrays = {**GOOD, part: np.array(values, GOOD[part].dtype)}
    with pytest.raises(ModelFileError) as caught:
        Clusters(**arrays, vocab_size=6, eos_id=EOS, where="here")
    assert str(caught.value).startswith(f"here: {message}") and str(caught.value).endswith("make its clusters again")


def test_the_largest_number_of_clusters():
    ids = np.full(MOST_CLUSTERS, EOS, np.int32)
    found = Clusters(np.zeros((MOST_CLUSTERS, 1), np.float32), np.arange(MOST_CLUSTERS + 1), ids, 6, EOS)
    assert found.sizes.size == MOST_CLUSTERS


def test_an_empty_cluster_has_no_end():
    with pytest.raises(ModelFileError, match="cluster 1 lacks </s>"):
        Clusters(GOOD["centroids"], np.array([0, 2, 2]), np.array([2, 5], np.int32), 6, EOS)
