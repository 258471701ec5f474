"""The units that tags stand around: words, single marks, stand-ins; of scripts without spaces the model's pieces."""

from __future__ import annotations

import re
from collections.abc import Sequence

from cpunmt.alignment.aligned import Span
from cpunmt.text.scripts import UNSPACED

_MARKS = (
    r"!-/:-@\[-^`{-~\u00a1-\u00a9\u00ab\u00ac\u00ae-\u00b1\u00b4-\u00b8\u00bb\u00bf\u00d7\u00f7\u2010-\u2027\u2030-\u205e"
    r"\u060c\u061b\u061f\u06d4\u0964\u0965\u3001-\u3003\u3008-\u3011\u3014-\u301f\uff01-\uff0f\uff1a-\uff20\uff5b-\uff65"
)
_UNIT = re.compile(rf"\{{\d+\}}|[{UNSPACED}]+|[^\s{_MARKS}{UNSPACED}]+|\S")
_IS_UNSPACED = re.compile(rf"[{UNSPACED}]")


def is_unspaced(text: str) -> bool:
    """Whether a text begins in a script that has no spaces between words."""
    return _IS_UNSPACED.match(text) is not None


def units_of(text: str, pieces: Sequence[Span]) -> list[Span]:
    """Begin and end of each unit, ascending; between them there is white space only. `pieces`: the model's."""
    found: list[Span] = []
    number = 0
    for match in _UNIT.finditer(text):
        begin, end = match.span()
        if end - begin > 1 and _IS_UNSPACED.match(text, begin):
            while number < len(pieces) and pieces[number][0] < end:
                cut = pieces[number][0]
                number += 1
                if begin < cut:
                    found.append((begin, cut))
                    begin = cut
        found.append((begin, end))
    return found


def parted(text: str, units: Sequence[Span], edges: Sequence[int]) -> list[Span]:
    """Cuts the units of a text at `edges`, except stand-ins. `units` and `edges` ascend."""
    found: list[Span] = []
    at = 0
    for begin, end in units:
        is_stand_in = text[begin] == "{" and end - begin > 1
        while at < len(edges) and edges[at] < end:
            if begin < edges[at] and not is_stand_in:
                found.append((begin, edges[at]))
                begin = edges[at]
            at += 1
        found.append((begin, end))
    return found


def overlapping(units: Sequence[Span], pieces: Sequence[Span]) -> list[list[tuple[int, int]]]:
    """For each piece the units that it has characters of: (number of the unit, how many)."""
    found: list[list[tuple[int, int]]] = []
    first, size = 0, len(units)
    for begin, end in pieces:
        while first < size and units[first][1] <= begin:
            first += 1
        of_piece = []
        number = first
        while number < size:
            low, high = units[number]
            if low >= end:
                break
            shared = (high if high < end else end) - (low if low > begin else begin)
            if shared > 0:
                of_piece.append((number, shared))
            number += 1
        found.append(of_piece)
    return found
