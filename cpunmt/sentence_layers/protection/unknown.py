"""Words in characters that a vocabulary has no piece for."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator

from cpunmt.process.stopping import check
from cpunmt.text.piece_spans import Span

_WORD = re.compile(r"\S{1,1024}")
_CHECKED = 64  # words between two looks at whether the call is to end
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


class UnknownWords:
    """Finds them; safe to share between threads.

    `knows` tells whether the vocabulary has pieces for all of a text. It is asked for each character once.
    """

    def __init__(self, knows: Callable[[str], bool]) -> None:
        self._knows = knows
        self._known = {" ", "\t", "\n", "\r"}
        self._unknown: set[str] = set()

    def are_in(self, text: str) -> bool:
        """Whether a character of `text` is unknown."""
        if self._known.issuperset(text):
            return False
        for character in set(text) - self._known - self._unknown:
            known = character.isspace() or self._knows(character)
            (self._known if known else self._unknown).add(character)
        return not self._unknown.isdisjoint(text)

    def spans(self, text: str) -> Iterator[tuple[Span, bool]]:
        """Where they stand in `text`, ascending, and whether it is a word; else it is a sign or some."""
        for number, word in enumerate(_WORD.finditer(text)):
            if number % _CHECKED == 0:
                check()
            if self.are_in(word.group()) and not self._knows(word.group()):
                yield from self._within(text, *word.span())

    def _within(self, text: str, begin: int, end: int) -> Iterator[tuple[Span, bool]]:
        """Runs of letters, marks and digits with an unknown one among them; runs of unknown signs."""
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
    """A sign of currency with the number behind or before it, if `begin` to `end` is one."""
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
    """Punctuation that may stand within a word: an apostrophe, a hyphen."""
    return unicodedata.category(character)[0] == "P"
