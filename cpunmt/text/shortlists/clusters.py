"""Clusters of decoder states: the target ids worth scoring in a step (Amer et al. 2022).

Nearby states favour the same few pieces. Each cluster has a centroid and a set of active pieces; a step's candidates
are those of the cluster whose centroid its state is nearest to, for any sentence.

The centroid C nearest to a state h minimizes |h - C|^2 = |h|^2 - 2 (h C - |C|^2 / 2), so it maximizes h C - |C|^2 / 2;
on a tie, the first cluster counts.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from cpunmt.errors import ModelFileError
from cpunmt.text.shortlists.shortlist import Name, what_is_wrong

MOST_CLUSTERS = 1 << 16
_BLOCK = 1 << 12  # states that are compared with all centroids at once


class Clusters:
    """Centroids, and the active pieces of each as two flat arrays; `nearest` defines their meaning.

    Attributes
    ----------
    centroids : (K, model_dim) float32
        In the space of decoder states, the input of the output layer. Read-only views of the mapped file when read from
        one, as are the next two.
    half_norms : (K,) float32
        |C|^2 / 2 of each.
    offsets : (K + 1,) int64
        The active pieces of cluster c are `ids[offsets[c] : offsets[c + 1]]`.
    ids : (L,) int32
        Target ids, strictly ascending within a cluster; </s> is in each.
    vocab_size : int
        Of the target vocabulary.
    texts : dict of str
        Origin and measurements, for information only.
    """

    def __init__(
        self,
        centroids: np.ndarray,
        offsets: np.ndarray,
        ids: np.ndarray,
        vocab_size: int,
        eos_id: int,
        texts: Mapping[str, Any] | None = None,
        where: Name = "clusters",
    ) -> None:
        """Stores the arrays without copying, after checking them.

        Raises
        ------
        ModelFileError
            Starting with `where`: there are zero clusters, or more than MOST_CLUSTERS; a centroid is not finite, or too
            long to be compared; the offsets fall, or do not end at the number of ids; a set is not strictly ascending,
            lacks `eos_id`, or has an id beyond `vocab_size`.
        """
        self.centroids, self.offsets, self.ids = centroids, offsets, ids
        self.vocab_size, self.texts = int(vocab_size), dict(texts or {})
        count = len(centroids)
        if not 1 <= count <= MOST_CLUSTERS:
            raise _broken(where, f"{count} centroids, expected 1 to {MOST_CLUSTERS}")
        if offsets.size != count + 1:
            raise _broken(where, f"{offsets.size} offsets for {count} centroids, expected {count + 1}")
        with np.errstate(over="ignore", invalid="ignore"):
            halves = np.einsum("cd,cd->c", centroids, centroids, dtype=np.float64) / 2
            self.half_norms = halves.astype(np.float32)
            wrong = np.flatnonzero(~np.isfinite(self.half_norms))
        if wrong.size:
            raise _broken(where, f"centroid {wrong[0]} is not finite, or as good as infinitely long")
        if problem := what_is_wrong(offsets, ids, self.vocab_size, "a cluster"):
            raise _broken(where, problem)
        ends = np.searchsorted(np.flatnonzero(ids == eos_id), offsets)  # the number of </s> before each cluster
        if (ends[1:] == ends[:-1]).any():
            raise _broken(where, f"cluster {int(np.argmax(ends[1:] == ends[:-1]))} lacks </s>, piece {eos_id}")

    @property
    def sizes(self) -> np.ndarray:
        """The number of active pieces of each cluster, (K,) int64."""
        return np.diff(self.offsets)

    def nearest(self, states: np.ndarray) -> np.ndarray:
        """Returns the cluster of each float32 state (n, model_dim), as (n,) int64."""
        found = np.empty(len(states), np.int64)
        for begin in range(0, len(states), _BLOCK):
            scores = states[begin : begin + _BLOCK] @ self.centroids.T
            scores -= self.half_norms
            found[begin : begin + _BLOCK] = scores.argmax(axis=1)
        return found

    def active(self, cluster: int) -> np.ndarray:
        """Returns the active pieces of a cluster: (n,) int32, ascending."""
        return self.ids[self.offsets[cluster] : self.offsets[cluster + 1]]

    def contain(self, clusters: np.ndarray, pieces: np.ndarray) -> np.ndarray:
        """Returns whether each of `pieces` (n,) is active in the matching one of `clusters` (n,): (n,) bool."""
        owners = np.repeat(np.arange(len(self.centroids)), self.sizes)
        pairs = owners * self.vocab_size + self.ids  # ascending
        wanted = np.asarray(clusters, np.int64) * self.vocab_size + pieces
        places = np.searchsorted(pairs, wanted)
        found: np.ndarray = pairs[np.minimum(places, pairs.size - 1)] == wanted
        return found


def _broken(where: Name, problem: str) -> ModelFileError:
    return ModelFileError(f"{where}: {problem}; fetch the model again, or make its clusters again")
