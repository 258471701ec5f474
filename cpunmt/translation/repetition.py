"""Loops in a translation: a model that is lost writes the same few pieces again and again."""

from collections.abc import Sequence

LONGEST_GROUP = 8  # pieces that are repeated
LEAST_TIMES = 4  # that they stand one after the other
LEAST_PIECES = 8  # that all of them together have


def repeats(pieces: Sequence[str]) -> bool:
    """Whether a group of 1 to 8 pieces stands in `pieces` four times running or more, eight pieces at least in all."""
    for size in range(1, LONGEST_GROUP + 1):
        wanted = max(LEAST_TIMES * size, LEAST_PIECES) - size  # pieces that are equal to the one `size` before
        equal = 0
        for before, piece in zip(pieces, pieces[size:], strict=False):
            equal = equal + 1 if piece == before else 0
            if equal == wanted:
                return True
    return False
