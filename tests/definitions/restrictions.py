"""Defines restrictions on the pieces of a hypothesis, in NumPy and lists."""

from collections.abc import Sequence

import numpy as np

from cpunmt.search.settings import Search


def penalized(logits: np.ndarray, vocabulary: np.ndarray, said: Sequence[int], penalty: float) -> np.ndarray:
    """Returns logits [pieces of the vocabulary]; those of earlier pieces are divided or multiplied by the penalty."""
    again = np.isin(vocabulary, said)
    return np.where(again, np.where(logits > 0, logits / np.float32(penalty), logits * np.float32(penalty)), logits)


def forbidden(said: Sequence[int], search: Search) -> list[int]:
    """Returns pieces that would repeat an n-gram, or complete a suppressed sequence."""
    size, found = search.no_repeat_ngram_size, []
    if size:
        said_before = [tuple(said[begin : begin + size]) for begin in range(len(said) - size + 1)]
        ending = tuple(said[len(said) - size + 1 :])
        found += [gram[-1] for gram in said_before if gram[:-1] == ending]
    for sequence in search.suppressed:
        begun = list(sequence[:-1])
        if len(begun) <= len(said) and list(said[len(said) - len(begun) :]) == begun:
            found.append(sequence[-1])
    return found
