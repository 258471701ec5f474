"""The contract of a format: what is translated of a file, where it stands, and how its translation is written there.

A reader makes a `Document` of a `Source`: one `Place` for each text. Nothing but the spans of places whose translation
is another text than the source is ever written, so a translator that gives all back unchanged leaves every byte.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from cpunmt.documents.encodings import Encoding
from cpunmt.errors import CpunmtError

Span = tuple[int, int]  # begin and end, in code points of the file's text

LINE = re.compile(r"([^\n\r]*)(?:\r\n|\n|\r|$)")  # a line and its end; the last one is empty


class DocumentError(CpunmtError):
    """A file is not what its format says, or cannot be translated. The message has the line, if it is of one."""


class Unit(NamedTuple):
    """What is translated by itself: one sentence, or several that belong together.

    text  in the form
    form  "plain": a text; "marked": one with marks in it, see `marks`; "html": a page
    """

    text: str
    form: Literal["plain", "marked", "html"] = "plain"


class Place(NamedTuple):
    """Where a unit stands.

    spans  what its translation is put in place of, ascending; an empty span is a place to insert something
    write  the translation, in the unit's form -> what is put there, one text for each span
    """

    unit: Unit
    spans: tuple[Span, ...]
    write: Callable[[str], Sequence[str]]


class Contents(Protocol):
    """What a reader has found in a file: a `Document`, or several of them in one file."""

    @property
    def units(self) -> list[Unit]:
        """All that is translated, in order; equal ones as often as they stand there."""

    def rendered(self, translations: Sequence[str]) -> bytes:
        """The file with the translation of each unit in its place; of unchanged ones, the bytes that were read."""


@dataclass(frozen=True, slots=True)
class Source:
    """The text of a file, and how it was encoded."""

    text: str
    encoding: Encoding

    @property
    def line_end(self) -> str:
        """The first one of the text, with which what is added is written."""
        at = self.text.find("\n")
        return "\r\n" if at > 0 and self.text[at - 1] == "\r" else "\n"


@dataclass(frozen=True, slots=True)
class Document:
    """The places of a text, whose spans do not overlap.

    notes  sentences that a user of the file should read
    """

    source: Source
    places: Sequence[Place]
    notes: Sequence[str] = ()

    @property
    def units(self) -> list[Unit]:
        """All that is translated, in order; equal ones as often as they stand there."""
        return [place.unit for place in self.places]

    def rendered(self, translations: Sequence[str]) -> bytes:
        """The file with the translation of each unit in its place."""
        edits: list[tuple[Span, str]] = []
        for (unit, spans, write), translation in zip(self.places, translations, strict=True):
            if translation != unit.text:
                edits += zip(spans, write(translation), strict=True)
        edits.sort(key=lambda edit: edit[0])
        text, parts, at = self.source.text, [], 0
        for (begin, end), new in edits:
            assert at <= begin, "places overlap"
            parts += text[at:begin], new
            at = end
        return self.source.encoding.encoded("".join([*parts, text[at:]]))


def whole(text: str, span: Span) -> Place:
    """A plain text that is written as it is."""
    return Place(Unit(text), (span,), lambda translation: [translation])


def trimmed(text: str, span: Span) -> Span:
    """Returns the span without white space at its ends; an empty span at its begin if nothing is left."""
    part = text[slice(*span)]
    begin = span[1] - len(part.lstrip())
    return (begin, span[0] + len(part.rstrip())) if part.strip() else (span[0], span[0])


def has_letters(text: str) -> bool:
    """Whether there is anything to translate."""
    return any(map(str.isalpha, text))


def broken(text: str, at: int, said: str) -> DocumentError:
    """The error for what stands at `at`."""
    return DocumentError(f"line {text.count(chr(10), 0, at) + 1}: {said}")
