"""Texts whose lines end where a page or a window was full: which lines are one paragraph, and what it says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_ITEM = re.compile(
    r"[\u2022\u2023\u25aa\u25cf\u25e6\u2043\xb7*\u2013\u2014-]\s|(?:\d{1,3}(?:\.\d{1,3})+|\(?\w{1,2}[.)])\s"
)
_SENTENCE_END = re.compile(r"[.!?:;\u3002\uff01\uff1f][\"'\u201d\u2019)\]]*$")
_HYPHEN = re.compile(r"(?<=[^\W\d_])[-\u2010\xad]$")
_NEIGHBOURS = 4  # lines on each side that tell how wide the column is
_FULL = 0.85  # of that width
_NARROWEST, _WIDEST = 40, 120  # characters of the longest line of a text that has such lines


def groups(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yields the first line of each paragraph and the one after its last; empty lines are in none.

    `lines` are without white space at their ends. A line goes on where the next word would not have fitted.
    """
    begin = 0
    for number, line in enumerate(lines):
        width = max(map(len, lines[max(number - _NEIGHBOURS, 0) : number + _NEIGHBOURS]))
        before = lines[number - 1] if number else ""
        if not (line and before and _goes_on(before, line, width)):
            if begin < number and lines[begin]:
                yield begin, number
            begin = number
    if begin < len(lines) and lines[begin]:
        yield begin, len(lines)


def joined(lines: Sequence[str]) -> str:
    """Returns the lines of a paragraph as one, with words that were hyphenated at their ends put together."""
    found = lines[0]
    for line in lines[1:]:
        if _HYPHEN.search(found):
            found = (found[:-1] if line[0].islower() else found) + line
        else:
            found += f" {line}"
    return found


def are_broken(lines: Sequence[str]) -> bool:
    """Returns whether most lines that have another below them end within a sentence, because they were full.

    The small letter that begins the next line tells so. Verses, lists and tables have none as a rule.
    """
    if not _NARROWEST <= max(map(len, lines), default=0) <= _WIDEST:
        return False
    pairs = within = 0
    for begin, end in _blocks(lines):
        width = max(map(len, lines[begin:end]))
        for number in range(begin + 1, end):
            before, line = lines[number - 1], lines[number]
            pairs += 1
            within += line[0].islower() and not _ITEM.match(line) and _goes_on(before, line, width)
    return 2 * within >= pairs > 0


def _blocks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yields runs of lines that are not empty."""
    begin = 0
    for number, line in enumerate([*lines, ""]):
        if not line:
            if begin < number:
                yield begin, number
            begin = number + 1


def _goes_on(before: str, line: str, width: int) -> bool:
    """Returns whether a line goes on with what the line before says."""
    if _HYPHEN.search(before):
        return True
    if _ITEM.match(line):
        return False
    is_full = len(before) + 1 + len(line.split(" ", 1)[0]) > _FULL * width
    if line[0].islower() and not _SENTENCE_END.search(before):
        return is_full or len(before) > width / 2
    return is_full
