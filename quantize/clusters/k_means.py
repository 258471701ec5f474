"""K-means by FAISS, or by scikit-learn without it (the extra `clusters`)."""

import contextlib
import importlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from cpunmt.errors import CpunmtError

BACKENDS = {"faiss": "faiss-cpu", "sklearn": "scikit-learn"}  # module -> package, the best first


def load_backend() -> str:
    """Returns the module to use. Raises CpunmtError, with the installation, if neither is there."""
    for name in BACKENDS:
        with contextlib.suppress(ImportError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            importlib.import_module(name)
            return name
    raise CpunmtError(
        "states are clustered by FAISS or scikit-learn, neither of which is installed: pip install 'cpunmt[clusters]'"
    )


def described(backend: str) -> str:
    """Returns its package and version."""
    return f"{BACKENDS[backend]} {importlib.import_module(backend).__version__}"


def centroids(
    states: np.ndarray,
    count: int,
    iterations: int,
    seed: int,
    backend: str,
    progress: Callable[[int], object] = lambda done: None,
) -> np.ndarray:
    """Returns centroids float32 [count, depth] of at least `count` float32 states [rows, depth].

    Lloyd's algorithm, from random states. One thread: the same states and seed give the same bits with the same version
    of the package on the same machine. `progress` is called with the number of finished iterations.
    """
    make = {"faiss": _by_faiss, "sklearn": _by_sklearn}[backend]
    return np.ascontiguousarray(make(states, count, iterations, seed, progress), np.float32)


def _by_faiss(states: Any, count: Any, iterations: Any, seed: Any, progress: Any) -> Any:
    import faiss

    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        found = None
        for _ in range(iterations):  # each continues from the one before, as those of one call do
            settings = {"seed": seed, "min_points_per_centroid": 1, "max_points_per_centroid": len(states)}
            one = faiss.Kmeans(states.shape[1], count, niter=1, **settings)
            one.train(states, init_centroids=found)
            found = one.centroids
            progress(1)
        return found
    finally:
        faiss.omp_set_num_threads(threads)


def _by_sklearn(states: Any, count: Any, iterations: Any, seed: Any, progress: Any) -> Any:
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer different states than clusters
        made = KMeans(count, init="random", n_init=1, max_iter=iterations, tol=0, random_state=seed).fit(states)
    progress(iterations)
    return made.cluster_centers_
