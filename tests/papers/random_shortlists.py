"""Shortlists of random translations, made as `quantize shortlist` makes them, for the definitions of several papers."""

import numpy as np

from cpunmt.text.shortlists.shortlist import Shortlist
from quantize.shortlist.lists import best_pairs

WORDS, PIECES = 20, 400  # of the source and of the target


def random_shortlist(seed, first, best):
    """Returns a Shortlist, and word -> its translations, the most probable first."""
    generator = np.random.default_rng(seed)
    counts = generator.integers(0, 200, WORDS)
    targets = [generator.choice(PIECES, count, replace=False) for count in counts]
    chances = [np.sort(generator.random(count))[::-1] for count in counts]
    offsets = np.concatenate([[0], np.cumsum(counts)])
    kept = best_pairs(offsets, np.concatenate(targets).astype(np.int32), np.concatenate(chances), best)
    lists = [np.sort(kept.targets[kept.sources == word]) for word in range(WORDS)]
    ends = np.concatenate([[0], np.cumsum([len(some) for some in lists])]).astype(np.int64)
    made = Shortlist(ends, np.concatenate(lists).astype(np.int32), first, best, PIECES)
    return made, {word: some.tolist() for word, some in enumerate(targets)}
