"""Splits a text into the units that are translated separately: the option `split`, a name or a function."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import pairwise

from cpunmt.process.first_use import LOCK
from cpunmt.text.signs import is_plain
from cpunmt.text.vocabularies.piece_spans import Span
from cpunmt.values.checks import shown

Splitter = Callable[[str], Iterable[Sequence[int]]]  # text -> begin and end of each unit, in code points
Protected = str | re.Pattern[str] | Splitter  # "all", "none", a kind, a pattern or a function

NAMES = ("sentence", "paragraph", "line", "none")
_LINE = r"[^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+"


def is_one(text: str) -> bool:
    """Returns whether a text is clearly one sentence in any language; takes a few microseconds.

    If so, every named `split` returns the whole text; if not, the text may still be one sentence.
    """
    if is_plain(text):
        return True
    found = _clean().match(text)
    return found is not None and found.end() == len(text) and text[-1] not in " \u00a0"


def units(text: str, split: str | Splitter, language: str | None) -> list[Span]:
    """Returns begin and end of each unit, ascending. Units are not empty, and have no white space at either end.

    Parameters
    ----------
    split : "sentence": sentences, which end at the end of their line, or at a tab within it; "paragraph": sentences,
        which may continue in the next line; "line": lines; "none": the whole text; or a function that takes the text
    language : of the text, for its abbreviations; None: not known

    Raises ValueError if a function returns anything but ascending spans within the text.
    """
    if isinstance(split, str) and is_one(text):
        return [(0, len(text))]
    if split == "sentence" or split == "paragraph":
        found = _rules()(text, language, split == "sentence")
        return found if "\t" not in text else _columns(text, found)
    if split == "line":
        found = [found.span() for found in re.finditer(_LINE, text)]
    elif isinstance(split, str):
        found = [(0, len(text))]
    else:
        found = _checked(text, split)
    return [span for begin, end in found if (span := _stripped(text, begin, end))]


@cache
def _clean() -> re.Pattern[str]:
    """Compiles a pattern for text in Latin letters without a stop that can end a sentence, except at the text's end.

    A stop must be followed directly by a letter or digit ("3.50", "e.g."), or by a word in lower case ("the U.S.
    office"), or belong to a title common to all languages ("Dr. Smith"). The match has an open end, so it never
    backtracks.
    """
    letter = "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u00ff"
    quotes = "\"'\u201c\u201e\u2018\u00ab\u00bf\u00a1"
    within = f"[{letter}0-9 \u00a0,;:()[\\]%$\u20ac\u00a3&/+=\u2013\u2014\u201d\u2019\u00bb{quotes}-]*"
    begin = f"[({quotes}]?[{letter}](?!\\))|[0-9]{{1,4}}(?:[.,][0-9]{{1,3}})?(?= [{letter}])"
    lower = "(?!https?:|ftp:|www)[a-z\u00df-\u00f6\u00f8-\u00fe](?![A-Z\u00c0-\u00d6\u00d8-\u00de])"
    goes_on = f'[{letter}0-9,/%&+-]| [("\u201c]?{lower}'
    stops = f"[.?!\u2026]+[\"')\u201c\u201d\u2019\u00bb]*(?={goes_on}|\\Z)"
    titles = f"(?:(?<=(?<![^ ])(?:Mr|Ms|Dr))|(?<=(?<![^ ])Mrs))\\.(?= [{letter}])"
    return re.compile(f"(?:{begin}){within}(?:(?:{stops}|{titles}){within}){{0,30}}")


@cache
def _rules() -> Callable[[str, str | None, bool], list[Span]]:
    with LOCK:  # they take 10 ms to import, and few texts need them
        from cpunmt.text.sentences import sentence_spans
    return sentence_spans


def _columns(text: str, sentences: list[Span]) -> list[Span]:
    """Cuts sentences at tabs between the words of a line. A tab at the beginning or the end of a line is an indent."""
    found = []
    for begin, end in sentences:
        for gap in re.compile(r"\s+").finditer(text, begin, end):
            if "\t" in gap[0] and len(f"{gap[0]}.".splitlines()) == 1:
                found.append((begin, gap.start()))
                begin = gap.end()
        found.append((begin, end))
    return found


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
