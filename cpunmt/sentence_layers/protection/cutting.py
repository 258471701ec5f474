"""Cuts parts out of a sentence before it is translated, and puts them back into the translation."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Sequence
from typing import NamedTuple

from cpunmt.alignment.aligned import Aligned, Span
from cpunmt.alignment.edits import Edit
from cpunmt.alignment.projection import least_crossed
from cpunmt.sentence_layers.protection.finding import KeptPart
from cpunmt.text.scripts import EAST_ASIAN_MARKS, UNSPACED

_PAIRS = {'"': '"', "'": "'", "(": ")", "[": "]", "{": "}", "<": ">", "\uff08": "\uff09", "\u300c": "\u300d"}
_PAIRS |= {"\u201c": "\u201d", "\u201e": "\u201c", "\u2018": "\u2019", "\u00ab": "\u00bb", "\u2039": "\u203a"}
_OPENING, _CLOSING = frozenset("([{<\u201e\u00ab\u2039\u00a1\u00bf"), frozenset(")]}>,.;:!?\u2026\u00bb\u203a\u201d")
_ENDS = re.compile(r"[\W_]*")
_MARK_BEHIND = re.compile(r"[,:;](?=\s)")
_MARK_BEFORE = re.compile(r"[,:;]\s?$")
_SPACES = re.compile(r"\s*")
_MOST = 256  # pieces of a word that are examined
_UNSPACED = re.compile(f"[{UNSPACED}{EAST_ASIAN_MARKS}]")


class CutOut(NamedTuple):
    """A part cut out of a sentence.

    text           text to put back
    before, after  the characters directly before and behind it; empty for a space
    beyond         the next character behind it that is not a space
    edit           the edit of the sentence that removes it with superfluous spaces
    """

    text: str
    before: str
    after: str
    beyond: str
    edit: Edit


def cut(sentence: str, unit: KeptPart, first: int) -> CutOut:
    """Cuts `unit` out of `sentence`, with brackets or a comma that would be left over.

    The sentence begins at `first`, behind the name of the target language.
    """
    begin, end = unit.begin, unit.end
    while first < begin and end < len(sentence) and _PAIRS.get(sentence[begin - 1]) == sentence[end]:
        begin, end = begin - 1, end + 1
    if begin == first and (mark := _MARK_BEHIND.match(sentence, end)):
        end = mark.end()
    elif (mark := _MARK_BEFORE.search(sentence, max(begin - 3, first), begin)) and _ENDS.fullmatch(sentence, end):
        begin = mark.start()
    text = sentence[begin:end]
    before, after = sentence[max(begin - 1, first) : begin].strip(), sentence[end : end + 1].strip()
    behind = _SPACES.match(sentence, end).end()  # type: ignore[union-attr]
    beyond = sentence[behind : behind + 1] if behind > end else ""
    if after.isalnum():
        words = before.isalnum()
        return CutOut(text, before, after, beyond, Edit(begin, end, " " if words else ""))
    if begin == first or before in _OPENING:  # the spaces behind it are removed too
        end = behind
    elif not before:
        begin -= 1
    return CutOut(text, before, after, beyond, Edit(begin, end, ""))


class Places:
    """The places in a translation for text cut from the source.

    The place is the one that the fewest links cross; near links count most. A cut at either end of the sentence stays
    at that end.
    """

    def __init__(self, below: Aligned, first: int = 0) -> None:
        """Takes `first`, the begin of the source behind the name of the target language."""
        self._below, self._first = below, first
        self._links = sorted(below.links)
        self._begins = [begin for begin, _ in below.source_spans]
        self._source_ends = _inner(below.source, first)
        self._target_ends = _inner(below.target)
        self._marks: dict[str, list[list[int]]] = {}  # punctuation -> its offsets in source and target

    def of(self, at: int, cut: CutOut) -> int:
        """Returns the target offset, in code points, of `cut`, which was at offset `at` of the source."""
        target, (first, last) = self._below.target, self._source_ends
        if first < at < last and (mark := self._same_mark(at, cut)) is not None:
            return mark
        begin, end = self._target_ends
        if at <= first and self._below.source[self._first : first] == target[:begin]:
            return at - self._first
        if at >= last and self._below.source[last:] == target[end:]:
            return end + at - last
        if at <= first:
            return 0 if not self._below.source[self._first : at].strip() else self._target_ends[0]
        if at >= last:
            return len(target) if not self._below.source[at:].strip() else self._target_ends[1]
        piece = bisect_left(self._begins, at)
        place = least_crossed(self._links, piece)
        if place is None:
            return self._target_ends[1] if 2 * at > len(self._below.source) else self._target_ends[0]
        return self._boundary(place)

    def _same_mark(self, at: int, cut: CutOut) -> int | None:
        """Finds the place next to the same punctuation as in the source, if the target has as many of it."""
        for mark, offset in ((cut.before, -1), (cut.after, 0)):
            if not mark or mark.isalnum():
                continue
            if mark not in self._marks:
                self._marks[mark] = [_places_of(mark, text) for text in (self._below.source, self._below.target)]
            source, target = self._marks[mark]
            number = bisect_left(source, at + offset)
            if len(source) == len(target) and number < len(source) and source[number] == at + offset:
                return target[number] - offset
        return None

    def _boundary(self, piece: int) -> int:
        """Returns the begin of target piece `piece`, or of the next one that begins a word."""
        target, spans = self._below.target, self._below.target_spans
        for begin, _ in spans[piece : piece + _MOST]:
            if is_boundary(target, begin):
                return begin
        return self._target_ends[1]


def is_boundary(text: str, at: int) -> bool:
    """Returns whether offset `at` of `text` is not inside a word."""
    if not 0 < at < len(text):
        return True
    before, behind = text[at - 1], text[at]
    if behind in _CLOSING and not before.isspace():
        return False
    return not (before.isalnum() and behind.isalnum()) or bool(_UNSPACED.match(before) and _UNSPACED.match(behind))


def _places_of(mark: str, text: str) -> list[int]:
    return [match.start() for match in re.finditer(re.escape(mark), text)]


def _inner(text: str, begin: int = 0) -> Span:
    """Returns the first letter or digit of `text` from `begin` on, and the end of its last one."""
    first = _ENDS.match(text, begin).end()  # type: ignore[union-attr]
    last = len(text)
    while last > first and not text[last - 1].isalnum():
        last -= 1
    return first, last


def put_back(target: str, cuts: Sequence[tuple[int, CutOut]], taken: Sequence[Span]) -> list[tuple[Edit, int]]:
    """Returns edits of `target`, ascending, that put `cuts` back, each with the number of its cut.

    Spaces around a cut follow the source and the punctuation. No edit splits a span of `taken`, the stand-ins.
    """
    cuts = [(next((begin for begin, end in taken if begin < place < end), place), cut) for place, cut in cuts]
    placed = sorted((_glued(target, place, cut), number) for number, (place, cut) in enumerate(cuts))
    found: list[tuple[Edit, int]] = []
    for position, (place, number) in enumerate(placed):
        cut = cuts[number][1]
        behind = found[-1][0].text if found and found[-1][0].begin == place else target[max(place - 1, 0) : place]
        is_last = position + 1 == len(placed) or placed[position + 1][0] != place
        left = _needs_space(behind[-1:], cut.before, _OPENING)
        right = is_last and _needs_space(target[place : place + 1], cut.after, _CLOSING - {cut.beyond})
        found.append((Edit(place, place, f"{' ' if left else ''}{cut.text}{' ' if right else ''}"), number))
    return found


def _needs_space(beside: str, glued: str, punctuation: Collection[str]) -> bool:
    """Returns whether a space belongs between a cut and `beside`; the source had `glued` there. Both may be empty."""
    if not beside or beside.isspace() or beside in punctuation or _UNSPACED.match(beside):
        return False
    return not glued or not (beside == glued or (beside.isalnum() and glued.isalnum()))


def _glued(target: str, place: int, cut: CutOut) -> int:
    """Returns `place` without the spaces between it and the word that `cut` touched."""
    if cut.before.isalnum():
        while place and target[place - 1].isspace():
            place -= 1
    elif cut.after.isalnum():
        while place < len(target) and target[place].isspace():
            place += 1
    return place
