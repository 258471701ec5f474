"""Where the sentences of a text begin and end: rules, no model, for all scripts.

A candidate is a run of stops, what closes after it (quotes, brackets), a footnote mark, and white space; where the
script writes none, no white space. It is none before lower case, after an abbreviation (`cpunmt.text.abbreviations`),
after initials, after an ordinal number where the language writes those with a point. Blank lines always separate.

Spans count code points; what lies between them is white space, and bullets and numbers of lists:

    gap0 + sentence0 + gap1 + sentence1 + ... + last gap == text

Linear: a candidate is judged by at most LOOK_BACK characters before it and the word after it.
"""

import functools
import re
from collections.abc import Iterator

from cpunmt.text.abbreviations import has_ordinals, numeric, prefixes, starters

LOOK_BACK = 40  # characters; no abbreviation is longer

_SPACED = ".?!\u2026\u203c\u2047-\u2049\u203d"  # stops that white space must follow; the rest need none:
_CJK = "\u3002\uff01\uff1f\uff61\uff0e"
_OTHER = (
    "\u061f\u06d4"  # Arabic question mark, Urdu full stop
    "\u0964\u0965"  # danda, double danda: Indic scripts
    "\u0589"  # Armenian
    "\u104b"  # Burmese
    "\u17d4\u17d5"  # Khmer
    "\u1362\u1367"  # Ethiopic
    "\u037e"  # Greek question mark
    "\u0f0d\u0f0e"  # Tibetan
    "\u1803\u1809"  # Mongolian
)
_CLOSERS = "\"'\u201d\u2019\u201c\u2018\u00bb\u203a)\\]}\u300d\u300f\uff09\u3011\u300b\u3009\u3015\uff3d\uff5d"
_OPENERS = "\"'\u201c\u2018\u201e\u201a\u201d\u2019\u00ab\u2039\u00bb\u00bf\u00a1(\\[{\u2013\u2014*_-"
_BLANK_LINE = r"[^\S\n]*(?:\r?\n[^\S\n]*){2,}"


@functools.cache
def _candidates(newline: bool) -> re.Pattern:
    """Ends of sentences: group 1 an end by a stop, with its white space; group 2 an end by lines."""
    line = r"\s*\n\s*" if newline else _BLANK_LINE
    stop = (
        rf"([{_SPACED}]+[{_CLOSERS}]*(?:\[\d{{1,3}}\])*(?=\s)"
        rf"|[{_CJK}{_OTHER}][{_SPACED}{_CJK}{_OTHER}]*[{_CLOSERS}]*)"
    )
    return re.compile(rf"{stop}|({line})")


_BULLET = re.compile(r"(?:[-*+\u2022\u2023\u25aa\u25cf\u2013\u2014][^\S\n]+|\(?(?:\d{1,3}|[a-z])[.)][^\S\n]+)(?=\S)")
_WORD = re.compile(rf"[{_OPENERS}]*(\w[\w'\u2019]*)")
_ROMAN = re.compile(r"[IVXLC]{1,7}")
_INITIALS = re.compile(r"[^\W\d_a-z](?:\.-?[^\W\d_a-z])*")


def sentence_spans(text: str, language: str | None = None, newline: bool = True) -> list[tuple[int, int]]:
    """Begin and end of each sentence, in code points, ascending.

    Parameters
    ----------
    text : any text
    language : of the text, as ISO 639 has it ("de", "pt-BR"), for its abbreviations; None: those that most share
    newline : whether a line's end is a sentence's end; otherwise only a blank line is
    """
    spans = []
    for begin, end in _pieces(text, language, newline):
        while begin < end and text[begin].isspace():
            begin += 1
        while begin < end and text[end - 1].isspace():
            end -= 1
        if begin < end:
            spans.append((begin, end))
    return spans


def _pieces(text, language, newline) -> Iterator[tuple[int, int]]:
    begin = _after_bullet(text, 0)
    for found in _candidates(newline).finditer(text):
        if found[1] is None:
            yield begin, found.start()
            begin = _after_bullet(text, found.end())
        elif found.start() >= begin and _ends(text, found, language):
            yield begin, found.end()
            begin = found.end()
    yield begin, len(text)


def _after_bullet(text, begin) -> int:
    """Where the text of a line begins that may begin with a bullet or the number of a list."""
    while begin < len(text) and text[begin].isspace():
        begin += 1
    found = _BULLET.match(text, begin)
    return found.end() if found else begin


def _ends(text, found, language) -> bool:
    """Whether a candidate ends a sentence."""
    stop, end = found[1], found.end()
    if stop[0] not in ".?!\u2026\u203c\u2047\u2048\u2049\u203d":
        # after a quotation Japanese goes on with the particle of saying
        return not (stop[-1] in "\u300d\u300f" and text[end : end + 1] in ("\u3068", "\u3063"))
    following = _WORD.match(text, _skip(text, end))
    word = following[1] if following else ""
    if word[:1].islower():
        return False
    if stop[0] != "." or stop[1:2] in (".", "?", "!"):
        return True
    before = text[max(0, found.start() - LOOK_BACK) : found.start()].split()[-1:]
    if not before or text[found.start() - 1].isspace():
        return True
    return not _goes_on(before[0].lstrip("\"'\u201c\u2018\u201e\u201a\u00ab\u2039([{"), word, language)


def _skip(text, at) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _goes_on(before, word, language) -> bool:
    """Whether a sentence goes on after the word `before` and a point, with `word`."""
    known, numbers, ordinals, starters = _rules(language)
    lower = before.lower()
    if lower in known or lower.rpartition("-")[2] in known:
        return True
    if word[:1].isdigit():
        return lower in numbers
    if word.lower() in starters:
        return False
    if _INITIALS.fullmatch(before):
        return before != "I"
    return ordinals and ((before.isdigit() and len(before) < 3) or _ROMAN.fullmatch(before) is not None)


@functools.lru_cache(64)
def _rules(language):
    return prefixes(language), numeric(language), has_ordinals(language), starters(language)
