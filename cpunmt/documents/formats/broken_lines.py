"""Reconstructs paragraphs from lines that were broken at the width of a page or a window."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_ITEM = re.compile(
    r"[\u2022\u2023\u25aa\u25cf\u25e6\u2043\xb7*\u2013\u2014-]\s|(?:\d{1,3}(?:\.\d{1,3})+|\(?\w{1,2}[.)])\s"
)
_SENTENCE_END = re.compile(r"[.!?:;\u3002\uff01\uff1f][\"'\u201d\u2019)\]]*$")
_HYPHEN = re.compile(r"(?<=[^\W\d_])[-\u2010\xad]$")
_NEIGHBOURS = 4  # lines on each side that determine the width of the column
_WHOLE = re.compile(r"[>|+]|[\W_]*$")
_FULL = 0.85  # of that width
_MIN_COLUMN = 0.6  # width of a column, as a share of the longest line of the text
_NARROWEST, _WIDEST = 40, 120  # bounds for the longest line of a text with broken lines, in characters


def groups(lines: Sequence[str], widest: int = 0) -> Iterator[tuple[int, int]]:
    """Yields, for each paragraph, the number of its first line and of the line after its last.

    `lines` have no white space at their ends. Empty lines do not belong to paragraphs. Two lines are joined if the
    first word of the second would not have fitted on the first. `widest` is the length of the longest line of the
    whole text, if the lines are a part of it. It keeps the short lines of an address or a signature separate.
    """
    begin, least = 0, int(_MIN_COLUMN * widest)
    for number, line in enumerate(lines):
        width = max(least, *map(len, lines[max(number - _NEIGHBOURS, 0) : number + _NEIGHBOURS]))
        before = lines[number - 1] if number else ""
        if not (line and before and _goes_on(before, line, width)):
            if begin < number and lines[begin]:
                yield begin, number
            begin = number
    if begin < len(lines) and lines[begin]:
        yield begin, len(lines)


def joined(lines: Sequence[str]) -> str:
    """Joins the lines of a paragraph, and the halves of a hyphenated word."""
    found = lines[0]
    for line in lines[1:]:
        if _HYPHEN.search(found):
            found = (found[:-1] if line[0].islower() else found) + line
        else:
            found += f" {line}"
    return found


def are_broken(lines: Sequence[str]) -> bool:
    """Returns whether at least half of the line ends are within sentences.

    The sign is a full line before a line that begins with a small letter. Verses, lists and tables rarely have this.
    """
    if not _NARROWEST <= max(map(len, lines), default=0) <= _WIDEST:
        return False
    pairs = within = 0
    for begin, end in _blocks(lines):
        width = max(map(len, lines[begin:end]))
        for number in range(begin + 1, end):
            before, line = lines[number - 1], lines[number]
            if stands_alone(before) or stands_alone(line):
                continue
            pairs += 1
            within += line[0].islower() and not _ITEM.match(line) and _goes_on(before, line, width)
    return 2 * within >= pairs > 0


def stands_alone(line: str) -> bool:
    """Returns whether a line is never a part of a paragraph: one of a quotation or a table, or a ruler."""
    return _WHOLE.match(line) is not None


def _blocks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yields the begin and end of each run of lines that are not empty."""
    begin = 0
    for number, line in enumerate([*lines, ""]):
        if not line:
            if begin < number:
                yield begin, number
            begin = number + 1


def _goes_on(before: str, line: str, width: int) -> bool:
    """Returns whether `line` continues the paragraph of `before`; the column is `width` characters wide."""
    if stands_alone(before) or stands_alone(line):
        return False
    if _HYPHEN.search(before):
        return True
    if _ITEM.match(line):
        return False
    is_full = len(before) + 1 + len(line.split(" ", 1)[0]) > _FULL * width
    if line[0].islower() and not _SENTENCE_END.search(before):
        return is_full or len(before) > width / 2
    return is_full
