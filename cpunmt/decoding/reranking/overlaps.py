"""Counts the n-grams that each two of many sequences share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.int64]


def ngram_overlaps(sequences: Sequence[npt.NDArray[np.int64]], longest: int) -> Iterator[tuple[Matrix, Matrix]]:
    """Counts, for each n from 1 to `longest`, the n-grams of each sequence and those that each two share.

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
