"""Detects loops in a translation: runs of the same or nearly the same few pieces, which a failing model repeats."""

import operator
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

LONGEST_GROUP = 8  # pieces of a short group
LEAST_TIMES = 4  # successive repetitions
LEAST_PIECES = 8  # pieces of all repetitions together
LONG_TIMES = 3  # successive repetitions of a longer group
# size of a short group -> pieces equal to the piece `size` before
_EQUAL = [(size, max(LEAST_TIMES * size, LEAST_PIECES) - size) for size in range(1, LONGEST_GROUP + 1)]
_LEAST_AGAIN = 6  # repeated pieces in any loop: ab four times, of which six are not new
_LEAST_PAIRS_AGAIN = 5  # and repeated pairs of neighbours: ab and ba
_LEAST_WINDOWS_AGAIN = (LONG_TIMES - 1) * (LONGEST_GROUP + 1) - (LONGEST_GROUP - 1)  # of the shortest longer group
_LEAST_LONG_PAIRS_AGAIN = (LONG_TIMES - 1) * (LONGEST_GROUP + 1) - 1  # and pairs


class Stretch(NamedTuple):
    """Successive pairs of neighbouring pieces that look like a loop: each repetition differs a little.

    pairs      number of pairs
    different  a loop has fewer different pairs; news, captions and even twenty sentences as one have more
    alike      or a loop has at least this many equal pairs; in those texts at most two thirds of this are equal
    """

    pairs: int
    different: int
    alike: int


STRETCHES = (Stretch(50, 25, 12), Stretch(100, 50, 14), Stretch(200, 110, 21), Stretch(400, 235, 30))
_LEAST_STRETCH_PAIRS_AGAIN = min(min(each.pairs - each.different + 1, each.alike - 1) for each in STRETCHES)


def repeats(pieces: Sequence[str]) -> bool:
    """Returns whether `pieces` look like a loop, in linear time.

    Either a group of 1 to 8 pieces stands in them four times running or more, eight pieces at least in all, or a longer
    group three times; or a stretch has few different pairs of neighbours, or one of them very often: see `STRETCHES`.
    """
    again = len(pieces) - len(set(pieces))
    if again < _LEAST_AGAIN:  # true for nearly all translations, in a microsecond
        return False
    pairs_again = len(pieces) - 1 - len(set(pairwise(pieces)))
    if pairs_again < _LEAST_PAIRS_AGAIN:  # true for most others
        return False
    if _repeats_exactly(pieces, pairs_again):
        return True
    if pairs_again >= _LEAST_LONG_PAIRS_AGAIN and _repeats_long_groups(pieces):
        return True
    if len(pieces) <= STRETCHES[0].pairs or pairs_again < _LEAST_STRETCH_PAIRS_AGAIN:
        return False
    of_pair = max(Counter(pairwise(pieces)).values())  # occurrences of the most frequent pair
    return any(
        (pairs_again > stretch.pairs - stretch.different or of_pair >= stretch.alike)
        and _repeats_nearly(pieces, stretch)
        for stretch in STRETCHES
        if len(pieces) > stretch.pairs
    )


def _repeats_exactly(pieces: Sequence[str], pairs_again: int) -> bool:
    for size, wanted in _EQUAL:
        # as many pairs of neighbours stand again, except for one
        if pairs_again >= wanted - 1 and b"\1" * wanted in bytes(map(operator.eq, pieces, pieces[size:])):
            return True
    return False


def _repeats_long_groups(pieces: Sequence[str]) -> bool:
    """Like `repeats`, for longer groups: compares the last eight pieces with their earlier occurrences."""
    windows = len(pieces) - LONGEST_GROUP + 1
    if windows - len(set(zip(*(pieces[n:] for n in range(LONGEST_GROUP)), strict=False))) < _LEAST_WINDOWS_AGAIN:
        return False  # true for nearly all of them, ten times faster
    last: dict[tuple[str, ...], int] = {}
    size = equal = 0  # `equal` successive windows of eight pieces also occurred `size` pieces before
    for place in range(windows):
        window = tuple(pieces[place : place + LONGEST_GROUP])
        distance = place - last.get(window, place)
        equal = equal + 1 if distance == size else 1
        size, last[window] = distance, place
        if size > LONGEST_GROUP and equal + LONGEST_GROUP - 1 >= (LONG_TIMES - 1) * size:
            return True
    return False


def _repeats_nearly(pieces: Sequence[str], stretch: Stretch) -> bool:
    pairs = list(pairwise(pieces))
    counts: dict[tuple[str, str], int] = {}  # of each pair in the stretch that ends here
    for end, pair in enumerate(pairs, 1):
        count = counts[pair] = counts.get(pair, 0) + 1
        if end > stretch.pairs:
            gone = pairs[end - stretch.pairs - 1]
            counts[gone] -= 1
            if not counts[gone]:
                del counts[gone]
            count -= gone == pair
        if count >= stretch.alike or (end >= stretch.pairs and len(counts) < stretch.different):
            return True
    return False
