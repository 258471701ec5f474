"""Defines the drawing of pieces, in Python's integers and float64."""

from collections.abc import Sequence

import numpy as np

from cpunmt.search.settings import Search

WORD = (1 << 32) - 1


def philox(counter: Sequence[int], key: Sequence[int]) -> list[int]:
    """Computes Philox4x32-10 of Salmon et al. 2011: four words from a counter of four and a key of two."""
    (a, b, c, d), (low, high) = counter, key
    for _ in range(10):
        first, second = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = (second >> 32) ^ b ^ low, second & WORD, (first >> 32) ^ d ^ high, first & WORD
        low, high = (low + 0x9E3779B9) & WORD, (high + 0xBB67AE85) & WORD
    return [a, b, c, d]


def sentence_key(source: Sequence[int]) -> int:
    """Returns the FNV-1a hash of the ids as words."""
    key = 0xCBF29CE484222325
    for piece in source:
        key = (key ^ int(piece)) * 0x100000001B3 % (1 << 64)
    return key


def chance(source: Sequence[int], search: Search, number: int, step: int) -> float:
    """Returns the random number in [0, 1) for the piece at `step` of translation `number`."""
    key = sentence_key(source)
    counter = step, number, key & WORD, key >> 32
    return philox(counter, (search.seed & WORD, search.seed >> 32))[0] / 2**32


def weights(log_probs: np.ndarray, search: Search) -> np.ndarray:
    """Returns for each of `log_probs` [pieces] a number proportional to the probability of drawing it; 0: never."""
    found = np.exp((log_probs - log_probs.max()) / search.sampling_temperature)
    if 0 < search.sampling_topk < len(found):
        found[found < np.sort(found)[-search.sampling_topk]] = 0
    if search.sampling_topp < 1:
        ranked = np.sort(found)[::-1]
        enough = int(np.argmax(np.cumsum(ranked) >= search.sampling_topp * ranked.sum()))
        found[found < ranked[enough]] = 0
    return found


def drawn(log_probs: np.ndarray, search: Search, u: float) -> int:
    """Returns the column that chance `u` selects."""
    found = weights(log_probs, search)
    return int(np.searchsorted(np.cumsum(found), u * found.sum(), side="right"))
