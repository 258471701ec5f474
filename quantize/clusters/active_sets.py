"""From states to clusters: the pieces that the members of each cluster find best are its active ones."""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

import numpy as np

from cpunmt.model.config import ModelConfig
from cpunmt.text.clusters import Clusters
from quantize.clusters.states import Step

_WAITING = 1 << 22  # pairs of a cluster and a piece that are kept before equal ones are made one


class Rows(Protocol):
    """Some states, float32 [rows, depth], and their best pieces, int32 [rows, top]: a Step, or a Sample."""

    states: np.ndarray
    best: np.ndarray


def clusters_of(config: ModelConfig, centroids: np.ndarray, steps: Iterable[Rows]) -> Clusters:
    """Clusters with these centroids, float32 [K, depth]; active are the best pieces of their members, and </s>.

    States belong to the nearest centroid, as they do when the clusters are used. A cluster without members is left
    out. Memory is that of one step, and of the different pieces of each cluster.

    Raises ModelFileError for centroids that are no numbers.
    """
    count, size, eos = len(centroids), config.vocab_size, config.eos_id
    empty = Clusters(centroids, np.arange(count + 1), np.full(count, eos, np.int32), size, eos)
    members, pairs, waiting = np.zeros(count, np.int64), np.zeros(0, np.int64), []
    for step in steps:
        nearest = empty.nearest(step.states)
        members += np.bincount(nearest, minlength=count)
        waiting.append((nearest[:, None] * size + step.best).ravel())
        if sum(map(len, waiting)) > _WAITING:
            pairs, waiting = np.unique(np.concatenate([pairs, *waiting])), []
    used = np.flatnonzero(members)
    pairs = np.unique(np.concatenate([pairs, *waiting, used * size + eos]))
    owners = np.searchsorted(used, pairs // size)
    offsets = np.searchsorted(owners, np.arange(len(used) + 1)).astype(np.int64)
    return Clusters(centroids[used], offsets, (pairs % size).astype(np.int32), size, eos)


class Coverage(NamedTuple):
    """What clusters are worth on some text."""

    states: int
    covered: float  # share of the states whose best piece is active in their cluster
    active: float  # mean share of the vocabulary that is active, over the states


def coverage(clusters: Clusters, steps: Iterable[Step]) -> Coverage:
    """Measure it; there must be a state."""
    states = covered = active = 0
    for step in steps:
        nearest = clusters.nearest(step.states)
        states += len(nearest)
        covered += np.count_nonzero(clusters.contain(nearest, step.best[:, 0]))
        active += int(clusters.sizes[nearest].sum())
    return Coverage(states, covered / states, active / states / clusters.vocab_size)
