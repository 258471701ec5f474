"""Finds the spans of a sentence that must not be translated."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from string import ascii_letters, digits, printable
from typing import NamedTuple

from cpunmt.options.protect_option import KINDS
from cpunmt.process.stopping import check
from cpunmt.sentence_layers.protection.braces import brace_ends
from cpunmt.sentence_layers.protection.patterns import EMOJI, MESSAGE, PATTERNS, SIGNS, TRIGGER, UNITS
from cpunmt.sentence_layers.protection.unknown import UnknownWords
from cpunmt.text.piece_spans import Span
from cpunmt.text.signs import without
from cpunmt.text.units import Splitter
from cpunmt.values.checks import shown

_NO_TEXT = re.compile(r"[^\w`{}$%@#]*")  # between two that are kept as one
_WORD_CHARACTERS = frozenset(f"{ascii_letters}{digits}_")
_GLUED = re.compile(rf"_[0-9A-Za-z_]*|(?:{UNITS})(?![0-9A-Za-z_{{])")
_ENDS = (".", '."')
_URL_TAIL = ".,;:!?'\"*_~\u2019\u201d\u00bb\u2026"
_CLOSING = {")": "(", "]": "[", "}": "{"}


class Unit(NamedTuple):
    """`begin` to `end` of a sentence, in code points; `loose`: it stands beside what is said, as an emoji does."""

    begin: int
    end: int
    loose: bool


class Finder:
    """Finds what must not be translated; safe to share between threads.

    kinds      what is looked for, of `KINDS`
    patterns   the caller's own regular expressions: what they match is kept
    functions  the caller's own functions: the spans of a sentence that they give are kept
    knows      tells whether the vocabulary has pieces for all of a text
    """

    def __init__(
        self,
        kinds: Collection[str] = KINDS,
        patterns: Sequence[re.Pattern[str]] = (),
        functions: Sequence[Splitter] = (),
        knows: Callable[[str], bool] | None = None,
    ) -> None:
        self._patterns, self._functions = patterns, functions
        self._unknown = UnknownWords(knows) if knows and "unknown" in kinds else None
        chosen = {kind: pattern for kind, pattern in PATTERNS.items() if kind in kinds}
        # compiled when it is needed, which takes 10 ms
        self._kinds = "|".join(f"(?P<{kind}>{pattern})" for kind, pattern in chosen.items()) or "(?!)"
        self._trigger = re.compile(TRIGGER if chosen else "(?!)").search
        self._emoji = re.compile(EMOJI if chosen else "(?!)").search
        quiet = set(printable).difference(SIGNS if chosen else "")
        self._quiet = "".join(sign for sign in quiet if not (self._unknown and self._unknown.are_in(sign))).encode()

    def is_clean(self, text: str) -> bool:
        """Whether nothing is in `text`; False if it takes a closer look to know."""
        if self._patterns or self._functions:
            return False
        signs = without(text, self._quiet)  # of most sentences the stop at the end
        if not signs or (signs == "." and text.endswith(_ENDS)):
            return True
        if self._trigger(text) or (not signs.isascii() and self._emoji(signs)):
            return False
        return not (self._unknown and self._unknown.are_in(signs))

    def units(self, text: str, first: int = 0) -> list[Unit]:
        """What is in `text`, which begins at `first`: ascending, without overlaps.

        Neighbours with no word between them are one. Where no word is left, the whole text is one. Raises ValueError
        if a function gives something else than spans of the text.
        """
        if self.is_clean(text):
            return []
        check()  # a long text takes a tenth of a second
        found = [*self._of_patterns(text), *self._of_kinds(text), *self._of_unknown(text)]
        found += self._of_functions(text[first:], first)
        found.sort()
        units: list[Unit] = []
        for unit in found:
            last = units[-1] if units else None
            if unit.begin < first:
                continue
            if last and (unit.begin < last.end or _NO_TEXT.fullmatch(text, last.end, unit.begin)):
                units[-1] = Unit(last.begin, max(last.end, unit.end), last.loose and unit.loose)
            else:
                units.append(unit)
        if units and not any(map(str.isalnum, _left(text, first, units))):
            return [Unit(first, len(text), True)]
        return units

    def _of_patterns(self, text: str) -> Iterator[Unit]:
        for pattern in self._patterns:
            yield from (Unit(*match.span(), False) for match in pattern.finditer(text) if match.group())

    def _of_functions(self, text: str, first: int) -> Iterator[Unit]:
        for function in self._functions:
            given = function(text)
            try:
                spans = [(int(begin), int(end)) for begin, end in given]
            except (TypeError, ValueError):
                raise ValueError(f"protect: a function gave {shown(given)}, expected spans (begin, end)") from None
            for begin, end in spans:
                if not 0 <= begin <= end <= len(text):
                    raise ValueError(
                        f"protect: a function gave ({begin}, {end}), expected spans (begin, end) within the sentence, "
                        f"which has {len(text)} characters"
                    )
                if begin < end:
                    yield Unit(begin + first, end + first, False)

    def _of_kinds(self, text: str) -> Iterator[Unit]:
        ends = brace_ends(text) if "{" in text else {}
        search = re.compile(self._kinds).search
        at = 0
        while match := search(text, at):
            begin, at = match.span()
            if match.lastgroup == "placeholder" and match.group(MESSAGE) is not None:
                if begin not in ends:  # it never ends
                    continue
                at = ends[begin]
            elif match.lastgroup == "url":
                at = begin + _url_length(match.group())
            if match.lastgroup == "placeholder":
                begin, at = _with_what_is_glued(text, begin, at)
            yield Unit(begin, at, match.lastgroup == "emoji")

    def _of_unknown(self, text: str) -> Iterator[Unit]:
        if self._unknown and self._unknown.are_in(text):
            yield from (Unit(*span, not is_word) for span, is_word in self._unknown.spans(text))


def _left(text: str, first: int, units: Sequence[Unit]) -> Iterator[str]:
    """The characters of `text` that are in no unit."""
    for unit in units:
        yield from text[first : unit.begin]
        first = unit.end
    yield from text[first:]


def _with_what_is_glued(text: str, begin: int, end: int) -> Span:
    """A placeholder with the unit behind it, and as a part of a name: `{width}px`, `user_{id}`."""
    if glued := _GLUED.match(text, end):
        end = glued.end()
    if text[max(begin - 1, 0) : begin] == "_":
        while begin and text[begin - 1] in _WORD_CHARACTERS:
            begin -= 1
    return begin, end


def _url_length(url: str) -> int:
    """Characters of `url` without the punctuation of the sentence that it stands in."""
    end = len(url)
    surplus = {closing: url.count(closing) - url.count(opening) for closing, opening in _CLOSING.items()}
    while end:
        last = url[end - 1]
        if surplus.get(last, 0) > 0:
            surplus[last] -= 1
        elif last not in _URL_TAIL:
            break
        end -= 1
    return end or len(url)
