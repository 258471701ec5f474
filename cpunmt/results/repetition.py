"""Loops in a translation: a model that is lost writes the same few pieces again and again, or nearly the same."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

LONGEST_GROUP = 8  # pieces of a short group
LEAST_TIMES = 4  # that it stands there, one after the other
LEAST_PIECES = 8  # that all of them together have
LONG_TIMES = 3  # the same of a longer group
_LEAST_AGAIN = 6  # pieces that were there before, of any loop: ab four times, of which six are no new ones


class Stretch(NamedTuple):
    """Successive pairs of neighbouring pieces that look like a loop: what is repeated changes a little each time.

    pairs      how many there are
    different  fewer than these are different: of news and captions, also of twenty sentences as one, more are
    alike      or as many are one and the same: there at most two thirds of these are
    """

    pairs: int
    different: int
    alike: int


STRETCHES = (Stretch(50, 25, 12), Stretch(100, 50, 14), Stretch(200, 110, 21), Stretch(400, 235, 30))


def repeats(pieces: Sequence[str]) -> bool:
    """Whether `pieces` look like a loop, in time that grows with their number.

    Either a group of 1 to 8 pieces stands in them four times running or more, eight pieces at least in all, or a longer
    group three times; or a stretch has few different pairs of neighbours, or one of them very often: see `STRETCHES`.
    """
    again = len(pieces) - len(set(pieces))
    if again < _LEAST_AGAIN:  # of nearly all translations, in a microsecond
        return False
    most = max(Counter(pieces).values())  # of one piece
    if most >= LEAST_TIMES and _repeats_exactly(pieces):
        return True
    if most >= LONG_TIMES and again > LONGEST_GROUP * (LONG_TIMES - 1) and _repeats_long_groups(pieces):
        return True
    return any(
        (again > stretch.pairs - stretch.different or most >= stretch.alike) and _repeats_nearly(pieces, stretch)
        for stretch in STRETCHES
        if len(pieces) > stretch.pairs
    )


def _repeats_exactly(pieces: Sequence[str]) -> bool:
    for size in range(1, LONGEST_GROUP + 1):
        wanted = max(LEAST_TIMES * size, LEAST_PIECES) - size  # pieces that are equal to the one `size` before
        equal = 0
        for before, piece in zip(pieces, pieces[size:], strict=False):
            equal = equal + 1 if piece == before else 0
            if equal == wanted:
                return True
    return False


def _repeats_long_groups(pieces: Sequence[str]) -> bool:
    """The same for groups of more pieces: by where the last eight pieces stood before."""
    last: dict[tuple[str, ...], int] = {}
    size = equal = 0  # as many windows of eight pieces as `equal` stood `size` pieces before, one after the other
    for place in range(len(pieces) - LONGEST_GROUP + 1):
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
