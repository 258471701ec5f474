"""Leaves out pairs of texts that are not translations of each other, by the words that they share.

A text's words are given a probability by those of its partner (IBM Model 1, both ways). It is learnt from the other
half of the pairs, or a wrong pair would teach its own words. A pair passes if its mean log-probability is above that of
most texts beside a wrong partner of the same length.
"""

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from models.train.text.held_out import normalized
from models.train.text.word_alignment import Aligner, LexicalTable, train_aligner

_WORD = re.compile(r"\w+|[^\w\s]")
_WORDS = 60_000  # the most frequent words of each side; the others are one
_WRONG_BELOW = 0.95  # share of wrong partners that must score lower
_BINS = 12  # of lengths, each with a threshold of its own


def word_ids(texts: Sequence[str]) -> tuple[list[np.ndarray], int]:
    """Returns the words of each text as int32 ids, and the number of different ids; 0 is every rare word."""
    words = [_WORD.findall(text.casefold()) for text in texts]
    counts = Counter(word for text in words for word in text)
    numbers = {word: number for number, (word, _) in enumerate(counts.most_common(_WORDS), 1)}
    return [np.array([numbers.get(word, 0) for word in text], np.int32) for text in words], len(numbers) + 1


def pair_scores(sources: Sequence[np.ndarray], targets: Sequence[np.ndarray], aligner: Aligner) -> np.ndarray:
    """Returns float32 [pairs]: the mean log-probability of a word given the partner's words, of both directions."""
    return np.array(
        [
            (_given(aligner.forward, source, target) + _given(aligner.backward, target, source)) / 2
            for source, target in zip(sources, targets, strict=True)
        ],
        np.float32,
    )


def _given(table: LexicalTable, source: np.ndarray, target: np.ndarray) -> float:
    if not len(source) or not len(target):
        return -np.inf
    return float(np.log(table.lookup(source[:, None], target[None]).max(0)).mean())


def sifted(sources: Sequence[str], targets: Sequence[str]) -> np.ndarray:
    """Returns bool [pairs]: whether each pair passes. A text passes beside itself, such as a name."""
    (ones, size), (others, target_size) = word_ids(sources), word_ids(targets)
    lengths = np.array([len(one) + len(other) for one, other in zip(ones, others, strict=True)])
    found, wrong = np.empty(len(lengths), np.float32), np.empty(len(lengths), np.float32)
    half = np.arange(len(lengths)) % 2 == 1
    for mine in (half, ~half):
        learnt, order = np.flatnonzero(~mine), np.flatnonzero(mine)
        order = order[np.argsort(lengths[order], kind="stable")]
        aligner = train_aligner([ones[i] for i in learnt], [others[i] for i in learnt], size, target_size)
        found[order] = pair_scores([ones[i] for i in order], [others[i] for i in order], aligner)
        wrong[order] = pair_scores([ones[i] for i in order], [others[i] for i in np.roll(order, 1)], aligner)
    order = np.argsort(lengths, kind="stable")
    passes = np.zeros(len(order), bool)
    for some in np.array_split(order, _BINS):
        if len(some):
            passes[some] = found[some] > np.quantile(wrong[some], _WRONG_BELOW)
    same = [normalized(source) == normalized(target) for source, target in zip(sources, targets, strict=True)]
    return passes | np.array(same, bool)
