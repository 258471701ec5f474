"""Word alignment by IBM Model 1, for guided alignment: pairs of source and target pieces.

t(target | source) of Brown et al. 1993 (https://aclanthology.org/J93-2003), by expectation maximization, in both
directions. A pair of positions is aligned if each is the other's best, with a cost of the distance from the diagonal as
in Dyer et al. 2013 (https://aclanthology.org/N13-1073): few points, and nearly all of them right.
"""

from typing import NamedTuple

import numpy as np

from quantize.shortlist.corpus import Corpus
from quantize.shortlist.word_alignment import translations

DIAGONAL = 4.0  # cost of the distance from the diagonal, in nats per sentence length
LEAST = 1e-4  # smaller probabilities are dropped
SURE = 10 * LEAST  # a point's probability, with its distance's cost, is larger


class LexicalTable(NamedTuple):
    """Sparse t(target | source): `keys` are source * targets + target, ascending."""

    keys: np.ndarray  # int64
    probabilities: np.ndarray  # float32
    targets: int  # pieces of the target vocabulary

    def lookup(self, sources: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Returns the probability of each pair of ids, or `LEAST` if it is missing. The two are broadcast."""
        wanted = sources.astype(np.int64) * self.targets + targets
        place = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where(self.keys[place] == wanted, self.probabilities[place], np.float32(LEAST))


def train_table(corpus: Corpus, source_size: int, target_size: int, rounds: int = 5) -> LexicalTable:
    """Returns t(target | source) of texts as ids, by plain Model 1 without diagonal and empty word."""
    learnt = translations(corpus, source_size, target_size, rounds, diagonal=0.0, null=0.0)
    given = np.repeat(np.arange(source_size), np.diff(learnt.offsets))
    probabilities = learnt.counts / np.bincount(given, learnt.counts)[given]
    kept = probabilities > LEAST
    keys = given[kept] * target_size + learnt.targets[kept]
    return LexicalTable(keys, probabilities[kept].astype(np.float32), target_size)


class Aligner(NamedTuple):
    """Tables of both directions."""

    forward: LexicalTable  # t(target | source)
    backward: LexicalTable  # t(source | target)

    def points(self, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Returns aligned positions (source, target) of a pair of texts with their </s>, which are aligned.

        `guided_alignment.Alignments` computes the same for whole batches.
        """
        n, m = len(source) - 1, len(target) - 1
        last = np.array([[n, m]])
        if not n or not m:
            return last
        source, target = source[:-1], target[:-1]
        # from whole numbers, so that equal distances are equal here and in batches
        apart = np.abs((2 * np.arange(n) + 1)[:, None] * m - (2 * np.arange(m) + 1) * n)
        near = np.exp(-DIAGONAL / 2 / (n * m) * apart)
        forward = self.forward.lookup(source[:, None], target[None]) * near
        backward = self.backward.lookup(target[None], source[:, None]) * near
        best_source, best_target = forward.argmax(0), backward.argmax(1)
        chosen = np.flatnonzero(best_target[best_source] == np.arange(m))
        certain = forward[best_source[chosen], chosen] > SURE
        chosen = chosen[certain]
        return np.concatenate([np.stack([best_source[chosen], chosen], 1), last])


def train_aligner(sources: list[np.ndarray], targets: list[np.ndarray], source_size: int, target_size: int) -> Aligner:
    """Trains tables of both directions from texts as ids."""
    there, back = parallel(sources, targets), parallel(targets, sources)
    return Aligner(train_table(there, source_size, target_size), train_table(back, target_size, source_size))


def parallel(sources: list[np.ndarray], targets: list[np.ndarray]) -> Corpus:
    """Returns texts as ids, pair by pair, as one corpus."""
    sides = []
    for texts in (sources, targets):
        sides += [np.concatenate(texts).astype(np.int32), np.cumsum([0, *map(len, texts)], dtype=np.int64)]
    return Corpus(*sides, np.ones(len(sources), np.float32))
