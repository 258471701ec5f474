"""K-means by either package: planted clusters are found, equal calls give equal bits; without both, one error."""

import sys

import numpy as np
import pytest

from cpunmt.errors import CpunmtError
from quantize.clusters.k_means import BACKENDS, centroids, described, load_backend

CENTRES = np.array([[0, 0, 0, 9], [9, 0, 0, 0], [0, -9, 0, 0]], np.float32)


def planted(rows=300):
    """Returns (states around CENTRES, the nearest centre of each)."""
    generator = np.random.default_rng(5)
    which = generator.integers(0, 3, rows)
    return CENTRES[which] + generator.normal(0, 0.1, (rows, 4)).astype(np.float32), which


@pytest.mark.parametrize("backend", BACKENDS)
def test_planted_clusters_are_found(backend):
    states, which = planted()
    told = []
    found = centroids(states, 3, 20, 3, backend, told.append)
    assert found.shape == (3, 4) and found.dtype == np.float32 and found.flags.c_contiguous and sum(told) == 20
    nearest = np.linalg.norm(found[:, None] - CENTRES, axis=2).argmin(axis=1)
    assert sorted(nearest.tolist()) == [0, 1, 2]
    for centroid, number in zip(found, nearest, strict=True):
        assert np.allclose(centroid, states[which == number].mean(axis=0), atol=1e-4)


@pytest.mark.parametrize("backend", BACKENDS)
def test_iterations_lower_the_distance_and_the_seed_decides(backend):
    import faiss

    threads, states = faiss.omp_get_max_threads(), np.random.default_rng(1).normal(size=(1000, 16)).astype(np.float32)
    errors, found = [], {}
    for iterations, seed in ((1, 1), (4, 1), (20, 1), (20, 2)):
        found[iterations, seed] = centroids(states, 40, iterations, seed, backend)
        errors.append(((states[:, None] - found[iterations, seed]) ** 2).sum(axis=2).min(axis=1).mean())
    assert errors[0] > errors[1] > errors[2] and not np.array_equal(found[20, 1], found[20, 2])
    assert centroids(states, 40, 20, 1, backend).tobytes() == found[20, 1].tobytes()
    assert faiss.omp_get_max_threads() == threads


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("different", [1, 3])
def test_few_states_that_differ(backend, different):
    states = np.repeat(np.eye(3, 8, dtype=np.float32)[:different], 4, axis=0)
    found = centroids(states, 4, 5, 1, backend)
    assert found.shape == (4, 8) and np.isfinite(found).all()
    assert ((states[:, None] - found) ** 2).sum(axis=2).min(axis=1).max() < 1e-3


def test_the_first_that_is_installed_is_taken_and_without_one_it_says_what_to_install(monkeypatch):
    assert load_backend() == "faiss" and described("faiss").startswith("faiss-cpu 1.")
    monkeypatch.setitem(sys.modules, "faiss", None)
    assert load_backend() == "sklearn" and described("sklearn").startswith("scikit-learn 1.")
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(CpunmtError, match=r"neither of which is installed: pip install 'cpunmt\[clusters\]'$"):
        load_backend()
