"""Sentence chrF and BLEU of all pairs of texts: how good a translation is if another one is the reference.

They equal sacrebleu's with its default settings: chrF2 of six orders without spaces (Popović 2015), and BLEU of four
orders with the tokenizer 13a, exponential smoothing and the effective order. They use only arithmetic that IEEE 754
defines, so they have the same bits on any machine; no library's exponential guarantees that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

Table = npt.NDArray[np.float64]
CHARACTERS, WORDS = 6, 4  # of the longest n-grams
_BETA_2 = 4  # recall counts twice as much as precision
_MARKS = {"&quot;": '"', "&amp;": "&", "&lt;": "<", "&gt;": ">"}
_CUTS = (  # of mteval-v13a: marks; stops and commas but between digits; a hyphen behind a digit
    (re.compile(r"([{-~[-` -&(-+:-@/])"), r" \1 "),
    (re.compile(r"([^0-9])([.,])"), r"\1 \2 "),
    (re.compile(r"([.,])([^0-9])"), r" \1 \2"),
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),
)
_LN_2 = (0.693147180369123816490, 1.90821492927058770002e-10)  # the first has few bits: k times it is exact


def chrf(texts: Sequence[str]) -> Table:
    """Returns chrF of each text (row) with each text (column) as the reference: float64 [texts, texts], 0 to 100."""
    characters = [_code_points("".join(text.split())) for text in texts]
    precision = np.zeros((len(texts), len(texts)))
    recall, orders = precision.copy(), precision.copy()
    for totals, common in ngram_overlaps(characters, CHARACTERS):
        has = totals > 0
        both = has[:, None] & has
        share = common / np.maximum(totals, 1)  # of the column's
        precision += np.where(both, share.T, 0.0)
        recall += np.where(both, share, 0.0)
        orders += both
    precision /= np.maximum(orders, 1)
    recall /= np.maximum(orders, 1)
    below = _BETA_2 * precision + recall
    found: Table = 100 * ((1 + _BETA_2) * precision * recall / np.where(below > 0, below, 1.0))
    return found


def bleu(texts: Sequence[str]) -> Table:
    """Returns BLEU of each text (row) with each text (column) as the reference: float64 [texts, texts], 0 to 100."""
    known: dict[str, int] = {}
    words = [np.array([known.setdefault(w, len(known)) for w in tokens(text)], np.int64) for text in texts]
    lengths = np.array([len(sentence) for sentence in words], np.float64)[:, None]
    product = np.ones((len(texts), len(texts)))
    matched, halving = product < 0, product.copy()
    for totals, common in ngram_overlaps(words, WORDS):
        there = np.maximum(totals, 1)[:, None]
        none = common == 0
        halving = np.where(none & (totals[:, None] > 0), halving * 2, halving)
        share = np.where(none, 1 / (halving * there), common / there)
        product *= np.where(totals[:, None] > 0, share, 1.0)
        matched |= ~none
    shorter = lengths < lengths.T
    penalty = np.where(shorter, exponential(1 - lengths.T / np.maximum(lengths, 1)), 1.0)
    mean = np.where(lengths >= 4, np.sqrt(np.sqrt(product)), product)
    mean = np.where(lengths == 3, cube_root(product), mean)
    mean = np.where(lengths == 2, np.sqrt(product), mean)
    return np.where(matched, 100 * penalty * mean, 0.0)


UTILITIES: dict[str, Callable[[Sequence[str]], Table]] = {"chrf": chrf, "bleu": bleu}


def tokens(text: str) -> list[str]:
    """Splits a text into words, as mteval-v13a does."""
    text = text.rstrip().replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    if "&" in text:
        for name, mark in _MARKS.items():
            text = text.replace(name, mark)
    text = f" {text} "
    for pattern, parts in _CUTS:
        text = pattern.sub(parts, text)
    return text.split()


def _code_points(text: str) -> npt.NDArray[np.int64]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.int64)


def exponential(x: Table) -> Table:
    """Returns e^x for x <= 0, within a few units in the last place; 0 below -700."""
    powers = np.rint(np.maximum(x, -700.0) / _LN_2[0])
    rest = np.maximum(x, -700.0) - powers * _LN_2[0] - powers * _LN_2[1]
    made = np.ones_like(rest)
    for n in range(16, 0, -1):
        made = 1 + rest / n * made
    return np.where(x < -700.0, 0.0, np.ldexp(made, powers.astype(np.int32)))


def cube_root(x: Table) -> Table:
    """Returns the cube root of positive numbers, by Newton's method from a third of the exponent."""
    fraction, exponent = np.frexp(x)
    thirds = -(-exponent // 3)
    fraction = np.ldexp(fraction, exponent - 3 * thirds)  # 1/8 to 1
    made = 0.5 + fraction / 2
    for _ in range(6):
        made -= (made - fraction / (made * made)) / 3
    return np.asarray(np.ldexp(made, thirds), np.float64)


Matrix = npt.NDArray[np.int64]


def ngram_overlaps(sequences: Sequence[npt.NDArray[np.int64]], longest: int) -> Iterator[tuple[Matrix, Matrix]]:
    """Counts, for each n from 1 to `longest`, the n-grams of each sequence and the common n-grams of each pair.

    An n-gram that occurs k times in one and m times in the other counts min(k, m) times.

    Parameters
    ----------
    sequences : int64 [symbols] each, symbols not less than 0

    Yields int64 [sequences] and, symmetric, int64 [sequences, sequences]. Its memory grows with the number of symbols,
    plus an eighth of a byte for each symbol and sequence.
    """
    count = len(sequences)
    lengths = np.array([len(sequence) for sequence in sequences], np.int64)
    owner = np.repeat(np.arange(count), lengths)
    ends = np.cumsum(lengths)
    place = np.arange(len(owner))
    room = ends[owner] - place  # symbols of the same sequence from here on
    distinct, symbols = np.unique(np.concatenate([*sequences, np.empty(0, np.int64)]), return_inverse=True)
    ids = symbols = symbols.reshape(-1)  # of the n-gram that begins at each place
    for n in range(1, longest + 1):
        if n > 1:
            goes_on = room[place] >= n
            place, ids = place[goes_on], ids[goes_on]
            _, ids = np.unique(ids * len(distinct) + symbols[place + n - 1], return_inverse=True)
            ids = ids.reshape(-1)
        rows = _sets(ids, owner[place], count)
        totals = np.maximum(lengths - n + 1, 0)
        common = np.diag(totals)
        for i, row in enumerate(rows):
            common[i, :i] = common[:i, i] = [(row & other).bit_count() for other in rows[:i]]
        yield totals, common


def _sets(ids: Matrix, owners: Matrix, count: int) -> list[int]:
    """Packs the ids of each owner into the bits of an integer, one bit for each repetition of an id.

    Parameters
    ----------
    ids : from 0, without gaps
    """
    pairs = np.sort(ids * count + owners)
    ids, owners = pairs // count, pairs % count
    place = np.arange(len(pairs))
    times = place - np.maximum.accumulate(np.where(_begins(pairs), place, 0))  # earlier occurrences, of this owner
    begins = np.flatnonzero(_begins(ids))
    most = np.maximum.reduceat(times, begins) + 1 if len(pairs) else times
    bits = (np.cumsum(most) - most)[ids] + times
    by_owner = np.argsort(owners, kind="stable")
    limits = np.searchsorted(owners[by_owner], np.arange(count + 1)).tolist()
    sets = []
    for first, last in pairwise(limits):
        flags = np.zeros(int(most.sum()), np.bool_)
        flags[bits[by_owner[first:last]]] = True
        sets.append(int.from_bytes(np.packbits(flags).tobytes(), "little"))
    return sets


def _begins(ascending: Matrix) -> npt.NDArray[np.bool_]:
    """Returns the places where a new number begins."""
    return np.append(True, ascending[1:] != ascending[:-1])[: len(ascending)]
