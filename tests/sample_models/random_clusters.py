"""Clusters of random states and pieces, for any model."""

import numpy as np

from cpunmt.model.config import ModelConfig
from cpunmt.text.shortlists.clusters import Clusters


def random_clusters(number: int, config: ModelConfig, count: int = 5, most: int = 9, **texts) -> Clusters:
    """Makes `count` clusters, each of </s> and up to `most` other pieces; `texts` describe their origin."""
    generator = np.random.default_rng(number)
    sets = [np.union1d(generator.integers(0, config.vocab_size, most), [config.eos_id]) for _ in range(count)]
    offsets = np.cumsum([0, *map(len, sets)], dtype=np.int64)
    centroids = generator.normal(size=(count, config.architecture.model_dim)).astype(np.float32)
    ids = np.concatenate(sets).astype(np.int32)
    return Clusters(centroids, offsets, ids, config.vocab_size, config.eos_id, texts)


def use_clusters(clusters: Clusters, config: ModelConfig):
    """Reads all values of the clusters, as a search would."""
    for number in clusters.nearest(clusters.centroids):
        active = clusters.active(number)
        assert config.eos_id in active and 0 <= active.min() <= active.max() < config.vocab_size
