"""From states to clusters: the most probable pieces of a cluster are its active ones.

A piece's rate in a cluster is its mean probability over the members. The pairs of a cluster and a piece with the
highest rates are taken, up to the wanted mean number of active pieces. States also count a little in the clusters next
to their own, as if they had fallen just across the border. Amer et al. 2022 take all best pieces of all members,
however rare: at equal size that covers less (docs/quantization.md).
"""

from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

import numpy as np

from cpunmt.model.config import ModelConfig
from cpunmt.text.shortlists.clusters import Clusters
from quantize.clusters.states import Step

BORDER = 0.1  # weight of a state in the clusters next to its own
_WAITING = 1 << 22  # buffered pairs of a cluster and a piece before equal ones are merged
_BLOCK = 1 << 12  # states compared with all centroids at once


class Rows(Protocol):
    """Some states, float32 [rows, depth], their best pieces, int32 [rows, top], and the logits of these, float32.

    A Step, or a Sample.
    """

    @property
    def states(self) -> np.ndarray: ...
    @property
    def best(self) -> np.ndarray: ...
    @property
    def logits(self) -> np.ndarray: ...


def clusters_of(
    config: ModelConfig, centroids: np.ndarray, steps: Iterable[Rows], active: float = 1.0, near: int = 1
) -> Clusters:
    """Returns clusters with these centroids, float32 [K, depth]; active are the pieces of the highest rates, and </s>.

    States belong to the nearest centroid, as in translation. Clusters without members are left out. It needs memory for
    one step, and for the different pieces of each cluster.

    Parameters
    ----------
    active : largest mean share of active pieces in the vocabulary over these states; 1.0: all best pieces
    near : number of clusters in which a state counts: 1 in its own, BORDER in the others

    Raises
    ------
    ModelFileError
        A centroid is not finite.
    """
    count, size, eos = len(centroids), config.vocab_size, config.eos_id
    empty = Clusters(centroids, np.arange(count + 1), np.full(count, eos, np.int32), size, eos)
    members, counts = np.zeros(count, np.int64), _Counts()
    for step in steps:
        clusters = nearest(empty, step.states, near)
        members += np.bincount(clusters[:, 0], minlength=count)
        found = probabilities(step.logits)
        for place in range(clusters.shape[1]):
            counts.add(clusters[:, place, None] * size + step.best, found if place == 0 else BORDER * found)
    pairs = _chosen(*counts.found(), members, size, eos, active)
    used = np.flatnonzero(members)
    owners = np.searchsorted(used, pairs // size)
    offsets = np.searchsorted(owners, np.arange(len(used) + 1)).astype(np.int64)
    return Clusters(centroids[used], offsets, (pairs % size).astype(np.int32), size, eos)


def probabilities(logits: np.ndarray) -> np.ndarray:
    """Returns the softmax over each state's best pieces alone, float64 [rows, top]; logits fall."""
    found: np.ndarray = np.exp(logits.astype(np.float64) - logits[:, :1])
    found /= found.sum(axis=1, keepdims=True)
    return found


def nearest(clusters: Clusters, states: np.ndarray, near: int) -> np.ndarray:
    """Returns the nearest centroids' clusters of each state, the nearest first: int64 [rows, near, or fewer].

    The first equals `clusters.nearest`.
    """
    near = min(near, len(clusters.centroids))
    found = np.empty((len(states), near), np.int64)
    for begin in range(0, len(states), _BLOCK):
        scores = states[begin : begin + _BLOCK] @ clusters.centroids.T
        scores -= clusters.half_norms
        for place in range(near):
            chosen = scores.argmax(axis=1)
            found[begin : begin + _BLOCK, place] = chosen
            scores[np.arange(len(scores)), chosen] = -np.inf
    return found


class _Counts:
    """Sums of the weights of pairs, in memory of the different pairs."""

    def __init__(self) -> None:
        self._pairs: np.ndarray = np.zeros(0, np.int64)
        self._sums: np.ndarray = np.zeros(0)
        self._waiting: list[tuple[np.ndarray, np.ndarray]] = []
        self._rows = 0

    def add(self, pairs: Any, counted: Any) -> None:
        self._waiting.append((pairs.ravel(), counted.ravel()))
        self._rows += pairs.size
        if self._rows > _WAITING:
            self._join()

    def found(self) -> tuple[np.ndarray, np.ndarray]:
        """Returns pairs, int64, ascending, and their sums, float64."""
        self._join()
        return self._pairs, self._sums

    def _join(self) -> None:
        waiting = [(self._pairs, self._sums), *self._waiting]
        self._waiting, self._rows = [], 0
        pairs, counted = (np.concatenate(parts) for parts in zip(*waiting, strict=True))
        self._pairs, places = np.unique(pairs, return_inverse=True)
        self._sums = np.bincount(places, counted, len(self._pairs))


def _chosen(pairs: Any, sums: Any, members: Any, size: Any, eos: Any, active: Any) -> Any:
    """Returns the active pairs, ascending: the highest rates up to the limit, and each cluster's </s>."""
    owners = pairs // size
    there = (members[owners] > 0) & (sums > 0) & (pairs % size != eos)
    pairs, sums, owners = pairs[there], sums[there], owners[there]
    ends = np.flatnonzero(members) * size + eos
    order = np.argsort(-sums / members[owners], kind="stable")  # the first of equals
    room = active * size * members.sum() - members.sum()
    fits = np.cumsum(members[owners[order]]) <= room
    return np.sort(np.concatenate([ends, pairs[order[fits]]]))


class Coverage(NamedTuple):
    """The coverage of clusters on some text."""

    states: int
    covered: float  # share of the states whose best piece is active in their cluster
    sentences: float  # share of the sentences whose states are all covered, where greedy search is unchanged
    active: float  # mean share of active pieces in the vocabulary, over the states


def coverage(clusters: Clusters, steps: Iterable[Step]) -> Coverage:
    """Measures the coverage; there must be a state."""
    states = covered = active = 0
    seen, lost = set(), set()
    for step in steps:
        found = clusters.nearest(step.states)
        contained = clusters.contain(found, step.best[:, 0])
        states += len(found)
        covered += np.count_nonzero(contained)
        active += int(clusters.sizes[found].sum())
        seen.update(step.sentences.tolist())
        lost.update(step.sentences[~contained].tolist())
    return Coverage(states, covered / states, 1 - len(lost) / len(seen), active / states / clusters.vocab_size)
