"""A sentence longer than the model takes, cut at a clause's end or between words; never in a word."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache

from cpunmt.alignment.aligned import Span
from cpunmt.process.stopping import check

MOST = 64  # pieces of a part: students are trained on sentences that are rarely longer, and loop on those that are
_STOPS = "\u3001\u3002\uff0c\uff1a\uff1b\uff01\uff1f"  # those that no space follows


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """A word, or in a script without spaces a clause, with what closes it and the space behind; the end of a clause.

    Made when a sentence is too long: few are.
    """
    return re.compile(f"[^\\s{_STOPS}]*[{_STOPS}]*\\s*"), re.compile(
        f"[,;:.!?\u2026\u2013\u2014)\u060c\u061b{_STOPS}]['\"\u2019\u201d\u00bb)]*\\s*$"
    )


class _Place:
    """A place between two words where a sentence can be cut."""

    __slots__ = ("begin", "is_clause", "pieces")

    def __init__(self, begin: int, pieces: int, is_clause: bool):
        """`begin` of the rest, number of pieces before it in the part that is cut off, and whether a clause ends."""
        self.begin, self.pieces, self.is_clause = begin, pieces, is_clause


def cut_long(text: str, count: Callable[[str], int], total: int, room: int) -> list[Span]:
    """Returns begin and end of parts of `text`, at most `room` and MOST pieces each, without the white space between.

    Each cut takes the last end of a clause in the second half of what fits; else the space in it that is nearest to
    where parts of equal size would be cut, so that no stump is left over; else the last space. A single word that has
    more pieces is a part of its own.

    Parameters
    ----------
    count : pieces of a word
    total : about how many pieces the text has
    """
    room = min(room, MOST)
    spans: list[Span] = []
    places: list[_Place] = []
    begin, pieces = 0, 0  # of the part that is being filled
    for place, size, is_clause in _words(text, count):
        while places and pieces + size > room:
            cut = _best(places, total, room)
            spans.append((begin, cut.begin))
            begin, pieces, total = cut.begin, pieces - cut.pieces, total - cut.pieces
            places = [
                _Place(later.begin, later.pieces - cut.pieces, later.is_clause)
                for later in places
                if later.begin > cut.begin
            ]
        pieces += size
        places.append(_Place(place, pieces, is_clause))
    spans.append((begin, len(text)))
    return [(begin, begin + len(text[begin:end].rstrip())) for begin, end in spans]


def _words(text: str, count: Callable[[str], int]) -> Iterator[tuple[int, int, bool]]:
    """Yields for each word where the next one begins, its number of pieces, and whether a clause ends with it."""
    words, clause_end = _patterns()
    for found in words.finditer(text):
        if found[0]:
            check()  # it may be long, as may the text
            yield found.end(), count(found[0]), clause_end.search(found[0], max(0, len(found[0]) - 8)) is not None


def _best(places: list[_Place], total: int, room: int) -> _Place:
    half, even = (room + 1) // 2, -(-total // max(2, -(-total // room)))
    in_half = [place for place in places if place.pieces >= half]
    for place in reversed(in_half):
        if place.is_clause:
            return place
    return min(in_half, key=lambda place: abs(place.pieces - even)) if in_half else places[-1]
