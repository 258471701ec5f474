"""Loops in a translation: a model that is lost writes the same few pieces again and again, or nearly the same."""

from collections.abc import Sequence
from itertools import pairwise

LONGEST_GROUP = 8  # pieces that are repeated
LEAST_TIMES = 4  # that they stand one after the other
LEAST_PIECES = 8  # that all of them together have
STRETCH = 100  # pairs of neighbouring pieces that are compared; of no sentence of news are fewer than 70 different
LEAST_DIFFERENT = 50  # of those
_LEAST_AGAIN = 6  # pieces that were there before, of any loop: ab four times, of which six are no new ones


def repeats(pieces: Sequence[str]) -> bool:
    """Whether `pieces` look like a loop, in time that grows with their number.

    Either a group of 1 to 8 pieces stands in them four times running or more, eight pieces at least in all; or of some
    hundred successive pairs of neighbours fewer than half are different: what is repeated changes a little each time.
    """
    again = len(pieces) - len(set(pieces))
    if again < _LEAST_AGAIN:  # of nearly all translations, in a microsecond
        return False
    return _repeats_exactly(pieces) or (again > STRETCH - LEAST_DIFFERENT and _repeats_nearly(pieces))


def _repeats_exactly(pieces: Sequence[str]) -> bool:
    for size in range(1, LONGEST_GROUP + 1):
        wanted = max(LEAST_TIMES * size, LEAST_PIECES) - size  # pieces that are equal to the one `size` before
        equal = 0
        for before, piece in zip(pieces, pieces[size:], strict=False):
            equal = equal + 1 if piece == before else 0
            if equal == wanted:
                return True
    return False


def _repeats_nearly(pieces: Sequence[str]) -> bool:
    pairs = list(pairwise(pieces))
    counts: dict[tuple[str, str], int] = {}  # of each pair in the stretch that ends here
    for end, pair in enumerate(pairs, 1):
        counts[pair] = counts.get(pair, 0) + 1
        if end > STRETCH:
            gone = pairs[end - STRETCH - 1]
            counts[gone] -= 1
            if not counts[gone]:
                del counts[gone]
        if end >= STRETCH and len(counts) < LEAST_DIFFERENT:
            return True
    return False
