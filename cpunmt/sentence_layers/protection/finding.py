"""Finds the spans of a sentence that must not be translated."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Sequence
from string import ascii_letters, digits, printable
from typing import NamedTuple

from cpunmt.options.protect_option import KINDS
from cpunmt.process.stopping import check
from cpunmt.sentence_layers.protection.patterns import EMOJI, MESSAGE, PATTERNS, SIGNS, TRIGGER, UNITS, brace_ends
from cpunmt.text.signs import without
from cpunmt.text.units import Splitter
from cpunmt.text.vocabularies.piece_spans import Span
from cpunmt.values.checks import shown

_NO_TEXT = re.compile(r"[^\w`{}$%@#]*")  # two kept parts with only this between are one
_WORD_CHARACTERS = frozenset(f"{ascii_letters}{digits}_")
_GLUED = re.compile(rf"_[0-9A-Za-z_]*|(?:{UNITS})(?![0-9A-Za-z_{{])")
_ENDS = (".", '."')
_URL_TAIL = ".,;:!?'\"*_~\u2019\u201d\u00bb\u2026"
_CLOSING = {")": "(", "]": "[", "}": "{"}


class KeptPart(NamedTuple):
    """A kept part, `begin` to `end` in code points; `loose`: outside the sentence's syntax, such as an emoji."""

    begin: int
    end: int
    loose: bool


class Finder:
    """A finder of parts that must not be translated; threads may share it.

    kinds      kinds to find, of `KINDS`
    patterns   the caller's regular expressions: their matches are kept
    functions  the caller's functions: they return spans of a sentence to keep
    knows      returns whether the vocabulary has pieces for all of a text
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
        # compiled on first use, which takes 10 ms
        self._kinds = "|".join(f"(?P<{kind}>{pattern})" for kind, pattern in chosen.items()) or "(?!)"
        self._trigger = re.compile(TRIGGER if chosen else "(?!)").search
        self._emoji = re.compile(EMOJI if chosen else "(?!)").search
        quiet = set(printable).difference(SIGNS if chosen else "")
        self._quiet = "".join(sign for sign in quiet if not (self._unknown and self._unknown.are_in(sign))).encode()

    def is_clean(self, text: str) -> bool:
        """Returns whether `text` certainly has nothing to keep; False if only a full search can decide."""
        if self._patterns or self._functions:
            return False
        signs = without(text, self._quiet)  # in most sentences only the stop at the end
        if not signs or (signs == "." and text.endswith(_ENDS)):
            return True
        if self._trigger(text) or (not signs.isascii() and self._emoji(signs)):
            return False
        return not (self._unknown and self._unknown.are_in(signs))

    def units(self, text: str, first: int = 0) -> list[KeptPart]:
        """Finds the parts of `text`, which begins at `first`, to keep: ascending, without overlaps.

        Neighbours without a word between them are joined. If no word is left, the whole text is one unit. Raises
        ValueError if a caller's function returns anything but spans of the text.
        """
        if self.is_clean(text):
            return []
        check()  # a long text takes a tenth of a second
        found = [*self._of_patterns(text), *self._of_kinds(text), *self._of_unknown(text)]
        found += self._of_functions(text[first:], first)
        found.sort()
        units: list[KeptPart] = []
        for unit in found:
            last = units[-1] if units else None
            if unit.begin < first:
                continue
            if last and (unit.begin < last.end or _NO_TEXT.fullmatch(text, last.end, unit.begin)):
                units[-1] = KeptPart(last.begin, max(last.end, unit.end), last.loose and unit.loose)
            else:
                units.append(unit)
        if units and not any(map(str.isalnum, text_left(text, units, first))):
            return [KeptPart(first, len(text), True)]
        return units

    def _of_patterns(self, text: str) -> Iterator[KeptPart]:
        for pattern in self._patterns:
            yield from (KeptPart(*match.span(), False) for match in pattern.finditer(text) if match.group())

    def _of_functions(self, text: str, first: int) -> Iterator[KeptPart]:
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
                    yield KeptPart(begin + first, end + first, False)

    def _of_kinds(self, text: str) -> Iterator[KeptPart]:
        ends = brace_ends(text) if "{" in text else {}
        search = re.compile(self._kinds).search
        at = 0
        while match := search(text, at):
            begin, at = match.span()
            if match.lastgroup == "placeholder" and match.group(MESSAGE) is not None:
                if begin not in ends:  # it is never closed
                    continue
                at = ends[begin]
            elif match.lastgroup == "url":
                at = begin + _url_length(match.group())
            if match.lastgroup == "placeholder":
                begin, at = _with_what_is_glued(text, begin, at)
            yield KeptPart(begin, at, match.lastgroup == "emoji")

    def _of_unknown(self, text: str) -> Iterator[KeptPart]:
        if self._unknown and self._unknown.are_in(text):
            yield from (KeptPart(*span, not is_word) for span, is_word in self._unknown.spans(text))


def text_left(text: str, units: Sequence[KeptPart], first: int = 0) -> str:
    """Returns the rest of `text`, from `first` on, without the units."""
    ends = [first, *(unit.end for unit in units)]
    begins = [*(unit.begin for unit in units), len(text)]
    return "".join([text[end:begin] for end, begin in zip(ends, begins, strict=True)])


def _with_what_is_glued(text: str, begin: int, end: int) -> Span:
    """Extends a placeholder by a unit behind it, or by the name around it: `{width}px`, `user_{id}`."""
    if glued := _GLUED.match(text, end):
        end = glued.end()
    if text[max(begin - 1, 0) : begin] == "_":
        while begin and text[begin - 1] in _WORD_CHARACTERS:
            begin -= 1
    return begin, end


def _url_length(url: str) -> int:
    """Returns the length of `url` without the punctuation of the sentence around it."""
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


_WORD = re.compile(r"\S{1,1024}")
_CHECKED = 64  # words between two checks for the end of the call
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


class UnknownWords:
    """A finder of unknown words; threads may share it.

    `knows` returns whether the vocabulary has pieces for all of a text. It is called once per character.
    """

    def __init__(self, knows: Callable[[str], bool]) -> None:
        self._knows = knows
        self._known = {" ", "\t", "\n", "\r"}
        self._unknown: set[str] = set()

    def are_in(self, text: str) -> bool:
        """Returns whether a character of `text` is unknown."""
        if self._known.issuperset(text):
            return False
        for character in set(text) - self._known - self._unknown:
            known = character.isspace() or self._knows(character)
            (self._known if known else self._unknown).add(character)
        return not self._unknown.isdisjoint(text)

    def spans(self, text: str) -> Iterator[tuple[Span, bool]]:
        """Yields the spans of unknown words and signs in `text`, ascending, each with whether it is a word."""
        for number, word in enumerate(_WORD.finditer(text)):
            if number % _CHECKED == 0:
                check()
            if self.are_in(word.group()) and not self._knows(word.group()):
                yield from self._within(text, *word.span())

    def _within(self, text: str, begin: int, end: int) -> Iterator[tuple[Span, bool]]:
        """Yields runs of letters, marks and digits that contain an unknown one, and runs of unknown signs."""
        at = begin
        while at < end:
            is_word, first, unknown = _is_word(text[at]), at, False
            while at < end and _is_word(text[at]) == is_word:
                if not is_word and (text[at] in self._unknown) != (text[first] in self._unknown):
                    break
                unknown = unknown or text[at] in self._unknown
                at += 1
            apostrophe = not is_word and at - first == 1 and begin < first and at < end and _is_mark(text[first])
            if unknown and not apostrophe:
                amount = None if is_word else _amount(text, first, at)
                yield amount or (first, at), is_word or bool(amount)


def _amount(text: str, begin: int, end: int) -> Span | None:
    """Extends a currency sign by the number behind or before it."""
    if end - begin > 1 or unicodedata.category(text[begin]) != "Sc":
        return None
    if behind := _NUMBER.match(text, end):
        return begin, behind.end()
    first = begin
    while first and (text[first - 1].isdecimal() or text[first - 1] in ".,"):
        first -= 1
    return (first, end) if first < begin else None


def _is_word(character: str) -> bool:
    return character.isalnum() or unicodedata.category(character)[0] in "MC"


def _is_mark(character: str) -> bool:
    """Returns whether a character may stand within a word: an apostrophe, a hyphen."""
    return unicodedata.category(character)[0] == "P"
