"""What is translated by itself: `split`, a name or a function, as spans of a text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from cpunmt.process.first_use import LOCK
from cpunmt.text.piece_spans import Span
from cpunmt.values.checks import shown

Splitter = Callable[[str], Iterable[Sequence[int]]]  # text -> begin and end of each unit, in code points
Protected = str | re.Pattern[str] | Splitter  # what is to be kept: "all", "none", a kind, a pattern or a function

NAMES = ("sentence", "paragraph", "line", "none")
# Most single sentences, found in a microsecond: letters, digits and commas, and at most a stop at the end
PLAIN = re.compile(
    "[A-Za-z\u00c0-\u00d6][A-Za-z0-9 ,'\u00c0-\u00d6\u00d8-\u00f6-]*[A-Za-z0-9\u00c0-\u00d6\u00d8-\u00f6][.!?]?"
)
_LINE = re.compile(r"[^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")


def units(text: str, split: str | Splitter, language: str | None) -> list[Span]:
    """Begin and end of each unit, ascending. None is empty or begins or ends with white space.

    Parameters
    ----------
    split : "sentence": sentences, which end where their line ends; "paragraph": sentences, which may go on in the next
        line; "line": lines; "none": the text; or a function that is given the text
    language : of the text, for its abbreviations; None: not known

    Raises ValueError if a function gives something else than ascending spans within the text.
    """
    if isinstance(split, str) and PLAIN.fullmatch(text):
        return [(0, len(text))]
    if split == "sentence" or split == "paragraph":
        with LOCK:  # the rules take 10 ms to import, and a plain sentence needs none
            from cpunmt.text.sentences import sentence_spans
        return sentence_spans(text, language, split == "sentence")
    if split == "line":
        found = [found.span() for found in _LINE.finditer(text)]
    elif isinstance(split, str):
        found = [(0, len(text))]
    else:
        found = _checked(text, split)
    return [span for begin, end in found if (span := _stripped(text, begin, end))]


def _stripped(text: str, begin: int, end: int) -> Span | None:
    unit = text[begin:end]
    size = len(unit.strip())
    if not size:
        return None
    begin += len(unit) - len(unit.lstrip())
    return begin, begin + size


def _checked(text: str, split: Splitter) -> list[Span]:
    given = split(text)
    try:
        found = [(int(begin), int(end)) for begin, end in given]
    except (TypeError, ValueError):
        raise ValueError(f"split gave {shown(given)}, expected a list of spans (begin, end)") from None
    ends = [0, *[place for span in found for place in span], len(text)]
    if any(before > after for before, after in pairwise(ends)):
        raise ValueError(
            f"split gave {shown(found)}, expected ascending spans (begin, end) within the text, which has {len(text)} "
            "characters"
        )
    return found
