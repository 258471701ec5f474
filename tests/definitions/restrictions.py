"""What a hypothesis may not say again, or not at all: the definition, in NumPy and lists."""

from collections.abc import Sequence

import numpy as np

from cpunmt.engine.search import Search


def penalized(logits: np.ndarray, vocabulary: np.ndarray, said: Sequence[int], penalty: float) -> np.ndarray:
    """Logits [pieces of the vocabulary], those of pieces that have been said divided or multiplied by the penalty."""
    again = np.isin(vocabulary, said)
    return np.where(again, np.where(logits > 0, logits / np.float32(penalty), logits * np.float32(penalty)), logits)


def forbidden(said: Sequence[int], search: Search) -> list[int]:
    """Pieces that would end an n-gram that has been said before, or one of the suppressed sequences."""
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
