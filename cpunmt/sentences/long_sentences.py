"""Cuts a sentence longer than the model takes, at the end of a clause or between words; never inside a word."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache

from cpunmt.alignment.aligned import Span
from cpunmt.process.stopping import check

MOST = 64  # pieces of a part: students train on short sentences, and tend to loop on longer ones
_STOPS = "\u3001\u3002\uff0c\uff1a\uff1b\uff01\uff1f"  # not followed by a space


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Returns the patterns of a word (in a script without spaces: a clause) and of the end of a clause.

    Compiled on first use: few sentences are too long.
    """
    return re.compile(f"[^\\s{_STOPS}]*[{_STOPS}]*\\s*"), re.compile(
        f"[,;:.!?\u2026\u2013\u2014)\u060c\u061b{_STOPS}]['\"\u2019\u201d\u00bb)]*\\s*$"
    )


class _Place:
    """A place between two words at which a sentence can be cut."""

    __slots__ = ("begin", "is_clause", "pieces")

    def __init__(self, begin: int, pieces: int, is_clause: bool):
        """Takes `begin` of the rest, the number of pieces in the part before it, and whether a clause ends."""
        self.begin, self.pieces, self.is_clause = begin, pieces, is_clause


def cut_long(text: str, count: Callable[[str], int], total: int, room: int) -> list[Span]:
    """Returns begin and end of parts of `text`, at most `room` and MOST pieces each, without the white space between.

    Cuts at the last end of a clause in the second half of what fits; else at the space nearest to an even division,
    which avoids a stump at the end; else at the last space. A single word with more pieces forms a part of its own.

    Parameters
    ----------
    count : counts the pieces of a word
    total : approximate number of pieces of the text
    """
    room = min(room, MOST)
    spans: list[Span] = []
    places: list[_Place] = []
    begin, pieces = 0, 0  # of the part in progress
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
    """Yields, for each word, the begin of the next one, the number of its pieces, and whether it ends a clause."""
    words, clause_end = _patterns()
    for found in words.finditer(text):
        if found[0]:
            check()  # a word, or the text, may be long
            yield found.end(), count(found[0]), clause_end.search(found[0], max(0, len(found[0]) - 8)) is not None


def _best(places: list[_Place], total: int, room: int) -> _Place:
    half, even = (room + 1) // 2, -(-total // max(2, -(-total // room)))
    in_half = [place for place in places if place.pieces >= half]
    for place in reversed(in_half):
        if place.is_clause:
            return place
    return min(in_half, key=lambda place: abs(place.pieces - even)) if in_half else places[-1]
