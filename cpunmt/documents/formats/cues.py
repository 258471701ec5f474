"""Joins subtitle cues that share a sentence, and divides its translation among the cues again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from cpunmt.documents.document import Span
from cpunmt.markup.units import Mark, Words, parts_of
from cpunmt.text.scripts import EAST_ASIAN, EAST_ASIAN_MARKS

WIDTH = 42  # characters of a line, by most subtitling guides
_GAP = 3000  # milliseconds after which a sentence has ended
_MOST = 8  # cues of one sentence
_PAUSE = 6  # deviation in characters that is accepted to end a cue with a clause
_TRIES = 20  # number of widths to try, for lines of equal length
_UNSPACED = EAST_ASIAN + EAST_ASIAN_MARKS  # each character may end a line
_WORD = re.compile(rf"\s*(?:[{_UNSPACED}]|(?:<[^<>]*>|{{[^{{}}]*}}|[^\s{_UNSPACED}])+)")
_TAG = re.compile(r"<[^<>]*>|\{[^{}]*\}")
_END = re.compile(r"[.!?:;\u2026\u3002\uff01\uff1f][\"'\u00bb\u201d\u2019\u201c)\]]*$")
_OPEN_END = re.compile(r"(?:\.\.\.?|\u2026)$")
_CLAUSE = re.compile(r"[,.;:!?\u2026\u3001\u3002\uff0c\uff01\uff1f]$")


class Cue(NamedTuple):
    """A cue without tags in its text.

    begin, end  times in milliseconds
    span        of the text in the file
    text        on one line
    width       characters of its longest line
    """

    begin: int
    end: int
    span: Span
    text: str
    width: int


def goes_on(group: Sequence[Cue], following: Cue) -> bool:
    """Returns whether the sentence at the end of the group continues in the following cue."""
    last = group[-1]
    if len(group) >= _MOST or not -1 <= following.begin - last.end <= _GAP:
        return False
    if _OPEN_END.search(last.text):
        return following.text[:1].islower()
    return not _END.search(last.text)


def shared_out(translation: Words, group: Sequence[Cue], line_end: str) -> list[str]:
    """Returns the text of each cue: its part of the translation, which has a mark at the beginning of each later cue.

    A part ends between words, near the end of its cue's words (by alignment) and of its cue's time, so that all cues
    can be read at a similar speed.
    """
    text, aligned = "", []
    for part in parts_of(translation):
        if isinstance(part, Mark):
            aligned.append(len(text))
        else:
            text += part
    words = _WORD.findall(text.strip())
    offset = len(text) - len(text.lstrip())
    ends = list(accumulate(map(len, words)))
    total = ends[-1] if ends else 0
    times = list(accumulate(max(cue.end - cue.begin, 1) for cue in group))
    parts, first = [], 0
    for number, at in enumerate(sorted(aligned)):
        timed = total * times[number] / times[-1]
        last = len(words) - (len(group) - number - 1)  # the other cues need a word each
        best = min(
            range(first + 1, last + 1),
            key=lambda end: _cost(words, ends, end, at - offset, timed),
            default=first + 1,
        )
        parts.append("".join(words[first:best]).strip())
        first = best
    parts.append("".join(words[first:]).strip())
    return [wrapped(part or "\u2026", max(WIDTH, cue.width), line_end) for part, cue in zip(parts, group, strict=True)]


def _cost(words: list[str], ends: list[int], end: int, aligned: int, timed: float) -> float:
    """Returns the cost of a cue that ends with the word before `end`."""
    at = ends[end - 1]
    is_clause = _CLAUSE.search(words[end - 1]) is not None
    return (at - aligned) ** 2 + (at - timed) ** 2 - (_PAUSE**2 if is_clause else 0)


def wrapped(text: str, width: int, line_end: str) -> str:
    """Wraps a text to a minimum of lines of similar length, at most `width` characters each; tags have no width."""
    words = _WORD.findall(text)
    least = _lines(words, width)
    if len(least) == 1:
        return least[0]
    low = sum(map(_width, words)) // len(least)
    for narrower in range(low, width, max(1, (width - low) // _TRIES)):
        lines = _lines(words, narrower)
        if len(lines) == len(least):
            return line_end.join(lines)
    return line_end.join(least)


def _lines(words: list[str], width: int) -> list[str]:
    lines: list[list[str]] = []
    used = width
    for word in words:
        used += _width(word)
        if used > width or not lines:
            lines.append([])
            word = word.lstrip()
            used = _width(word)
        lines[-1].append(word)
    return ["".join(line) for line in lines] or [""]


def _width(word: str) -> int:
    return len(_TAG.sub("", word))
