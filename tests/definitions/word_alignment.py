"""Defines expectation maximisation with dense matrices, for comparison with `quantize.shortlist.word_alignment`."""

import numpy as np

from quantize.shortlist.corpus import Corpus


def translations_reference(corpus: Corpus, source_size, target_size, iterations=8, diagonal=2.0, null=0.05):
    """Computes with dense matrices in float64.

    Returns counts (source_size, target_size), those of the empty word (target_size,), and the perplexities.
    """
    source, source_ends, target, target_ends, weights = corpus
    p = np.full((source_size, target_size), 1 / target_size)
    empty = np.full(target_size, 1 / target_size)
    perplexities = []
    for _ in range(iterations):
        counts, empty_counts = np.zeros_like(p), np.zeros_like(empty)
        log_likelihood = mass = 0.0
        for k, weight in enumerate(weights.astype(np.float64)):
            s = source[source_ends[k] : source_ends[k + 1]]
            t = target[target_ends[k] : target_ends[k + 1]]
            x, y = (np.arange(s.size) + 0.5) / s.size, (np.arange(t.size) + 0.5) / t.size
            w = np.exp(-diagonal * np.abs(x[:, None] - y))
            joint = (1 - null) * w / w.sum(0) * p[np.ix_(s, t)]
            total = joint.sum(0) + null * empty[t]
            np.add.at(counts, (s[:, None], t), weight * joint / total)
            np.add.at(empty_counts, t, weight * null * empty[t] / total)
            log_likelihood += weight * np.log(total).sum()
            mass += weight * t.size
        perplexities.append(np.exp(-log_likelihood / mass))
        sums = counts.sum(1, keepdims=True)
        p = np.divide(counts, sums, out=np.zeros_like(p), where=sums > 0)
        empty = empty_counts / empty_counts.sum() if empty_counts.sum() else empty
    return counts, empty_counts, perplexities
