"""Digits that the model changed are copied from the source again, by alignment."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence

from cpunmt.translation.protection.edits import Edit, Edits, edited, moved_each, rebuilt
from cpunmt.translation.texts.aligned import Aligned, Layer, Span
from cpunmt.translation.texts.hypotheses import aligned_hypotheses, changed_result

_NUMBER = re.compile(r"\d+(?:[.,:'\u2019\u00a0\u202f]\d+)*(?:[ \u00a0\u202f]\d{3}(?!\d))*")
_HALF_DAY = re.compile(r"\s?[ap]\.?\s?m\b", re.IGNORECASE)
_NO_DIGIT = re.compile(r"\D+")
_DIGIT = re.compile(r"\d")
_DIGITS = re.compile(r"\d+")


def number_layer(below: Layer) -> Layer:
    """A layer that sees to it that a translation has the numbers of its source.

    Numbers agree if their digits do: how thousands and decimals are separated is the model's. A number of the target
    that is none of the source's is replaced by the one that it is aligned with, if the target lacks that.
    """

    def translate(texts: Sequence[str], align: bool) -> list[Aligned]:
        found = below(texts, align)
        wrong = [number for number, aligned in enumerate(found) if _can_be_mended(aligned)]
        if not wrong:
            return found
        again = [found[number] for number in wrong] if align else below([texts[number] for number in wrong], True)
        for number, aligned in zip(wrong, again, strict=True):
            found[number] = _copied(aligned, align)
        return found

    return translate


def _can_be_mended(aligned: Aligned) -> bool:
    """Whether it is worth the time of another translation: not what went wrong as a whole, which is long."""
    if not is_doubtful(aligned.source, aligned.target):
        return False
    return aligned.found is None or not (aligned.found.truncated or aligned.found.repeats)


def agree(source: str, target: str) -> bool:
    """Whether two texts have the same numbers."""
    if not _DIGIT.search(source):
        return True
    return Counter(_digits(source)) == Counter(_digits(target))


def is_doubtful(source: str, target: str) -> bool:
    """Whether a number of the source is missing, and another one there, so that it may be in its place."""
    runs = _DIGITS.findall(source)
    if not runs or sorted(runs) == sorted(_DIGITS.findall(target)):  # most sentences: in a tenth of the time
        return False
    return bool(_unmatched(source, target) and _unmatched(target, source))


def _digits(text: str) -> list[str]:
    return [_NO_DIGIT.sub("", number) for number in _NUMBER.findall(text)]


def _copied(below: Aligned, align: bool) -> Aligned:
    targets = [(aligned, _edits(aligned)) for aligned in aligned_hypotheses(below)]
    texts = []
    for aligned, edits in targets:
        text, new = edited(aligned.target, edits)
        old = [(edit.begin, edit.end) for edit in edits]
        texts.append((Edits(text, old, new), moved_each(aligned.target_spans, old, new)))
    best = texts[0][0]
    found = below.found
    if found is not None:
        changed = [(target.text, spans) for target, spans in texts]
        found = changed_result(found, below.source, below.source_spans, changed, align)
    if not align:
        return Aligned(below.source, best.text, found=found)
    return rebuilt(below, Edits(below.source, [], []), best, [])._replace(found=found)


def _edits(aligned: Aligned) -> list[Edit]:
    """What must be replaced in the target, ascending."""
    missing = _unmatched(aligned.source, aligned.target)
    surplus = _unmatched(aligned.target, aligned.source)
    linked = _Linked(aligned)
    begins = [begin for begin, _ in surplus]
    found: dict[Span, str] = {}
    for begin, end in missing:
        if (place := linked.range_of(begin, end)) is None:
            continue
        first = max(bisect_right(begins, place[0]) - 1, 0)
        touched = [span for span in surplus[first : first + 3] if span[0] < place[1] and span[1] > place[0]]
        if len(touched) == 1 and touched[0] not in found:
            found[touched[0]] = _separated(aligned.source[begin:end], aligned.target[slice(*touched[0])])
    return [Edit(*span, text) for span, text in sorted(found.items())]


class _Linked:
    """`target_range` of many parts of one text."""

    def __init__(self, aligned: Aligned) -> None:
        self._aligned = aligned
        self._ends = [end for _, end in aligned.source_spans]
        self._targets: dict[int, list[Span]] = {}
        for source, target in aligned.links:
            self._targets.setdefault(source, []).append(aligned.target_spans[target])

    def range_of(self, begin: int, end: int) -> Span | None:
        piece = bisect_right(self._ends, begin)
        found: list[Span] = []
        for number in range(piece, len(self._ends)):
            if self._aligned.source_spans[number][0] >= end:
                break
            found += self._targets.get(number, [])
        return (min(b for b, _ in found), max(e for _, e in found)) if found else None


def _separated(number: str, like: str) -> str:
    """`number` with the separator that another one has, if each has but one kind."""
    own, other = set(_NO_DIGIT.findall(number)), set(_NO_DIGIT.findall(like))
    return number.replace(own.pop(), other.pop()) if len(own) == len(other) == 1 else number


def _unmatched(text: str, other: str) -> list[Span]:
    """The numbers of `text` that are not in `other`, or not as often."""
    there = Counter(_digits(other))
    found = []
    for match in _NUMBER.finditer(text):
        if _HALF_DAY.match(text, match.end()):  # 5:30 p.m. is 17:30 elsewhere
            continue
        digits = _NO_DIGIT.sub("", match.group())
        there[digits] -= 1
        if there[digits] < 0:
            found.append(match.span())
    return found
