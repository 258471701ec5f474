"""States of translations, held in memory, and their clusters by the real code."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from cpunmt.engine.engine import Engine
from cpunmt.model.config import ModelConfig
from cpunmt.text.shortlists.clusters import Clusters
from quantize.clusters import k_means
from quantize.clusters.active_sets import Coverage, clusters_of, coverage
from quantize.clusters.states import Step, decoder_states

ITERATIONS, SEED = 20, 1  # as of `quantize clusters`
MOST_STATES = 200_000  # for K-means


class Recorded(NamedTuple):
    """States in the order of the steps; a `Step` of all of them."""

    sentences: np.ndarray  # int64 [rows]
    states: np.ndarray  # float32 [rows, model_dim]
    best: np.ndarray  # int32 [rows, top]
    logits: np.ndarray  # float32 [rows, top]

    def top(self, count: int) -> Step:
        """Returns them with fewer of their best pieces."""
        best, logits = (np.ascontiguousarray(found[:, :count]) for found in (self.best, self.logits))
        return Step(self.sentences, self.states, best, logits)

    def cluster_stays(self, clusters: Clusters) -> float:
        """Returns the share of the states, without the first of each sentence, in the cluster of the one before."""
        order = np.argsort(self.sentences, kind="stable")
        same_sentence = np.diff(self.sentences[order]) == 0
        same_cluster = np.diff(clusters.nearest(self.states)[order]) == 0
        return float((same_cluster & same_sentence).sum() / max(same_sentence.sum(), 1))


def record(engine: Engine, sources: Sequence[list[int]], top: int = 1, beam_size: int = 1) -> Recorded:
    """Records every state of the translations over the whole vocabulary."""
    return joined(decoder_states(engine, sources, top, beam_size))


def joined(steps: Iterable[Step]) -> Recorded:
    """Joins several of them."""
    return Recorded(*map(np.concatenate, zip(*steps, strict=True)))


def centroids(recorded: Recorded, count: int, backend: str) -> np.ndarray:
    """Returns float32 [count, model_dim], fewer if there are fewer states."""
    states = recorded.states
    if len(states) > MOST_STATES:
        states = states[np.random.default_rng(SEED).choice(len(states), MOST_STATES, replace=False)]
    return k_means.centroids(states, min(count, len(states)), ITERATIONS, SEED, backend)


def made_clusters(config: ModelConfig, recorded: Recorded, count: int, top: int, backend: str) -> Clusters:
    """Returns the paper's clusters: active are the `top` best pieces of all members."""
    return clusters_of(config, centroids(recorded, count, backend), [recorded.top(top)])


def covered(clusters: Clusters, held_out: Recorded) -> Coverage:
    """Returns their coverage of other states."""
    return coverage(clusters, [held_out.top(1)])


def widened(clusters: Clusters, share: float, eos_id: int, zipf: bool = False) -> Clusters:
    """Returns the same clusters with random other pieces in each set, up to that share of the vocabulary.

    `zipf`: with probabilities 1 / (30 + id), as vocabularies are sorted by frequency: then sets have much in common,
    and parts of the table where their rows are close together.
    """
    random, wanted, sets = np.random.default_rng(SEED), round(share * clusters.vocab_size), []
    weights = 1 / (np.arange(clusters.vocab_size) + 30.0)
    for cluster in range(len(clusters.centroids)):
        active = clusters.active(cluster)
        chosen = np.zeros(clusters.vocab_size, bool)
        chosen[active] = True
        others = np.flatnonzero(~chosen)
        often = weights[others] / weights[others].sum() if zipf else None
        chosen[random.choice(others, max(0, wanted - len(active)), replace=False, p=often)] = True
        sets.append(np.flatnonzero(chosen).astype(np.int32))
    offsets = np.cumsum([0, *map(len, sets)])
    return Clusters(clusters.centroids, offsets, np.concatenate(sets), clusters.vocab_size, eos_id)


def bytes_of(clusters: Clusters) -> int:
    """Returns their size on disk, and mapped into memory."""
    return clusters.centroids.nbytes + clusters.offsets.nbytes + clusters.ids.nbytes
