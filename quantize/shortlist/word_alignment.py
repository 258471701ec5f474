"""Translation probabilities of pieces, learnt from sentence pairs: IBM Model 1 by expectation maximisation.

Brown et al. 1993, https://aclanthology.org/J93-2003, section 4.1. A target piece t at place j of m comes from one
piece of its source sentence s_1 .. s_n, or, with probability `null`, from the empty word:

    p(t, i) = (1 - null) w(i, j) p(t | s_i)         p(t, empty) = null p(t | empty)

Model 1 has w(i, j) = 1 / n. Here w falls with the distance from the diagonal (Dyer et al. 2013,
https://aclanthology.org/N13-1073, section 2). It is not learnt, so EM still climbs; `diagonal` 0 is Model 1 itself:

    w(i, j) = exp(-diagonal |(i - 1/2) / n - (j - 1/2) / m|) / (the sum of these over i)

Only pairs of pieces that occur in a sentence pair have a number. They are found by a bitmap of all pairs: the number
of a pair is that of the bits set before its own. Every loop over such pairs is compiled.
"""

from typing import Any, NamedTuple

import numba
import numpy as np

from quantize.shortlist.corpus import Corpus

LARGEST = 1 << 33  # bits of the bitmap: two vocabularies of 92,000 pieces
_CHUNK = 5000  # sentence pairs between two reports of progress
_compiled = numba.njit(error_model="numpy")


class PairTable(NamedTuple):
    """The pairs of pieces that occur together, numbered by source id and then by target id."""

    bits: np.ndarray  # (source pieces, words) uint64: bit t % 64 of word t // 64 is set for the pair with t
    starts: np.ndarray  # Numbered pairs of pieces that occur together, by source id and then by target id.
    size: int

    def offsets(self) -> np.ndarray:
        """Returns (source pieces + 1,) int64: the pairs of source id s are offsets[s] .. offsets[s + 1] - 1."""
        return np.append(self.starts[:, 0].astype(np.int64), self.size)

    def targets(self) -> np.ndarray:
        """Returns the target id of each pair: (size,) int32."""
        found = np.empty(self.size, np.int32)
        _list_targets(self.bits, found)
        return found


class _Model(NamedTuple):
    """The parameters of an iteration."""

    probabilities: np.ndarray  # (pairs,) float32: p(t | s)
    empty: np.ndarray  # (target pieces,) float64: p(t | empty)
    diagonal: float
    null: float


class _Counts(NamedTuple):
    """The expected counts of an iteration, float64."""

    pairs: np.ndarray  # (pairs,)
    empty: np.ndarray  # (target pieces,)


class Translations(NamedTuple):
    """The result of EM. `counts` are the expected numbers of t from s in the last iteration."""

    offsets: np.ndarray  # (source pieces + 1,) int64
    targets: np.ndarray  # (pairs,) int32, ascending within a source piece
    counts: np.ndarray  # (pairs,) float64
    empty: np.ndarray  # (target pieces,) float64: the counts of the empty word
    perplexities: list[float]  # of a target piece given its source sentence, before each iteration's change


def pair_table(corpus: Corpus, source_size: int, target_size: int) -> PairTable:
    """Numbers the pairs of a corpus.

    Raises ValueError for vocabularies whose pairs do not fit, and for more than 2^32 - 1 pairs.
    """
    words = (target_size + 63) // 64
    if source_size * words * 64 > LARGEST:
        raise ValueError(
            f"vocabularies of {source_size} and {target_size} pieces: a bitmap of their pairs has more than {LARGEST} "
            "bits; use smaller vocabularies"
        )
    bits = np.zeros((source_size, words), np.uint64)
    _mark_pairs(corpus, bits)
    numbers = np.empty((source_size, words), np.int64)
    size = int(_number_pairs(bits, numbers))
    if size >= 1 << 32:
        raise ValueError(f"the corpus has {size} different pairs of pieces, expected fewer than 2^32; use a part of it")
    return PairTable(bits, numbers.astype(np.uint32), size)


def translations(
    corpus: Corpus,
    source_size: int,
    target_size: int,
    iterations: int = 8,
    diagonal: float = 2.0,
    null: float = 0.05,
    progress: Any = lambda pairs: None,
) -> Translations:
    """Learns from a corpus of at least one pair; `progress` is called with the number of pairs done since then.

    Memory: the corpus, 1.5 bits for each pair of the vocabularies, 12 bytes for each pair that occurs.
    """
    table = pair_table(corpus, source_size, target_size)
    offsets = table.offsets()
    probabilities, empty = np.full(table.size, 1 / target_size, np.float32), np.full(target_size, 1 / target_size)
    model = _Model(probabilities, empty, float(diagonal), float(null))
    counts = _Counts(np.empty(table.size), np.empty(target_size))
    mass = float(np.dot(np.diff(corpus.target_ends), corpus.weights.astype(np.float64)))
    perplexities = []
    for _ in range(iterations):
        counts.pairs[:], counts.empty[:] = 0, 0
        log_likelihood = 0.0
        for begin in range(0, corpus.pairs, _CHUNK):
            end = min(begin + _CHUNK, corpus.pairs)
            log_likelihood += _expected_counts(corpus, begin, end, table, model, counts)
            progress(end - begin)
        perplexities.append(float(np.exp(-log_likelihood / mass)))
        _normalise(offsets, counts.pairs, model.probabilities)
        total = counts.empty.sum()
        if total:
            model.empty[:] = counts.empty / total
    return Translations(offsets, table.targets(), *counts, perplexities)


@_compiled
def _set_bits(word: Any) -> Any:
    """Counts the set bits; LLVM makes one instruction of it."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@_compiled
def _mark_pairs(corpus: Any, bits: Any) -> None:
    for k in range(corpus.weights.size):
        for i in range(corpus.source_ends[k], corpus.source_ends[k + 1]):
            row = bits[corpus.source[i]]
            for j in range(corpus.target_ends[k], corpus.target_ends[k + 1]):
                row[corpus.target[j] >> 6] |= np.uint64(1) << np.uint64(corpus.target[j] & 63)


@_compiled
def _number_pairs(bits: Any, starts: Any) -> Any:
    size = 0
    for s in range(bits.shape[0]):
        for word in range(bits.shape[1]):
            starts[s, word] = size
            size += np.int64(_set_bits(bits[s, word]))
    return size


@_compiled
def _list_targets(bits: Any, targets: Any) -> None:
    number = 0
    for s in range(bits.shape[0]):
        for word in range(bits.shape[1]):
            if bits[s, word]:
                for t in range(64):
                    if (bits[s, word] >> np.uint64(t)) & np.uint64(1):
                        targets[number] = 64 * word + t
                        number += 1


@_compiled
def _expected_counts(corpus: Any, begin: Any, end: Any, table: Any, model: Any, counts: Any) -> Any:
    """Adds the expected counts of sentence pairs begin .. end - 1; returns their weighted log-likelihood."""
    source, source_ends, target, target_ends, weights = corpus
    bits, starts, _ = table
    probabilities, empty, diagonal, null = model
    log_likelihood = 0.0
    longest = np.diff(source_ends[begin : end + 1]).max()
    rising, falling, distance, shares = np.empty((4, longest))
    places = np.empty(longest, np.int64)
    for k in range(begin, end):
        first = source_ends[k]
        n, m = source_ends[k + 1] - first, target_ends[k + 1] - target_ends[k]
        for i in range(n):  # exp(-|a - b|) is the smaller of e^a e^-b and e^-a e^b: no exponential per pair
            rising[i] = np.exp(diagonal * (i + 0.5) / n)
            falling[i] = 1 / rising[i]
        for j in range(m):
            t = target[target_ends[k] + j]
            up = np.exp(diagonal * (j + 0.5) / m)
            down = 1 / up
            norm = 0.0
            for i in range(n):
                one, other = rising[i] * down, falling[i] * up
                distance[i] = one if one < other else other
                norm += distance[i]
            word, below = t >> 6, (np.uint64(1) << np.uint64(t & 63)) - np.uint64(1)
            total = null * empty[t]
            for i in range(n):
                s = source[first + i]
                places[i] = np.int64(starts[s, word]) + np.int64(_set_bits(bits[s, word] & below))
                shares[i] = (1 - null) * distance[i] / norm * probabilities[places[i]]
                total += shares[i]
            if total <= 0:  # all of it is below the smallest float: nothing to learn
                continue
            log_likelihood += weights[k] * np.log(total)
            for i in range(n):
                counts.pairs[places[i]] += weights[k] * shares[i] / total
            counts.empty[t] += weights[k] * null * empty[t] / total
    return log_likelihood


@_compiled
def _normalise(offsets: Any, counts: Any, probabilities: Any) -> None:
    """Divides each source piece's counts by their sum."""
    for s in range(offsets.size - 1):
        total = 0.0
        for pair in range(offsets[s], offsets[s + 1]):
            total += counts[pair]
        for pair in range(offsets[s], offsets[s + 1]):
            probabilities[pair] = counts[pair] / total if total > 0 else 0.0
