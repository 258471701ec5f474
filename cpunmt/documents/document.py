"""The contract of a format: which texts of a file are translated, where they are, and how translations are written.

A reader makes a `Document` from a `Source`, with a `Place` for each text. Only the spans of places with a changed text
are ever written, so a translator that returns all texts unchanged keeps every byte.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

from cpunmt.alignment.edits import Edit, edited
from cpunmt.errors import CpunmtError
from cpunmt.markup.units import Unit, Words
from cpunmt.process.stopping import checked
from cpunmt.registry.store import Languages

Span = tuple[int, int]  # begin and end, in code points of the file's text

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, ""),  # begins like that of UTF-16
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_EXPECTED = "expected UTF-8, or UTF-16 with its byte order mark; name its encoding (encoding=cp1252), or convert it"
_LEAST, _MOST = 16, 64  # bytes to detect UTF-16 without a mark
_NO_FILES = ("idna", "punycode", "unicode_escape", "raw_unicode_escape", "utf-7", "undefined")  # Python's other codecs
_BINARY = (b"PK\x03\x04", b"%PDF", b"\xd0\xcf\x11\xe0")
# Web pages and XML of ASCII may declare another encoding than UTF-8.
_DECLARED = re.compile(
    r"""<(?:\?xml\s[^>]{0,200}?\bencoding|meta\s[^>]{0,200}?\bcharset)\s{0,9}=\s{0,9}["']?([\w.:-]{1,40})""", re.I
)
_BEGINNING = 1024  # characters in which HTML has its declaration
LINE = re.compile(r"([^\n\r]*)(?:\r\n|\n|\r|$)")  # a line and its end; the last match is empty


class DocumentError(CpunmtError):
    """A file that does not match its format, or cannot be translated. The message names the line, if there is one."""


class Place(NamedTuple):
    """The place of a unit.

    spans  the spans that its translation replaces, ascending; an empty span is an insertion
    write  converts the translation of the unit's words to one text per span
    """

    unit: Unit
    spans: tuple[Span, ...]
    write: Callable[[Any], Sequence[str]]


class Contents(Protocol):
    """The contents of a file as its reader found them: a `Document`, or several in one file."""

    @property
    def units(self) -> list[Unit]:
        """All units, in order, with duplicates."""

    def rendered(self, translations: Sequence[Words]) -> bytes:
        """Returns the file with the translation of each unit in its place; unchanged ones keep their bytes."""


class Encoding(NamedTuple):
    """The encoding of a file: its byte order mark, which may be empty, and Python's name for it.

    errors  what Python does with a character that the encoding lacks
    """

    mark: bytes = b""
    name: str = "utf-8"
    errors: str = "strict"

    def encoded(self, text: str) -> bytes:
        """Returns the bytes of a file."""
        return self.mark + text.encode(self.name, self.errors)


@dataclass(frozen=True, slots=True)
class Source:
    """The text of a file, with its encoding."""

    text: str
    encoding: Encoding

    @property
    def line_end(self) -> str:
        """The first line end of the text, used for added lines."""
        at = self.text.find("\n")
        return "\r\n" if at > 0 and self.text[at - 1] == "\r" else "\n"

    def edited(self, edits: Sequence[Edit]) -> bytes:
        """Returns the file with these edits, which do not overlap."""
        ordered = sorted(edits, key=lambda edit: edit[:2])
        assert all(one.end <= other.begin for one, other in pairwise(ordered)), "edits overlap"
        return self.encoding.encoded(edited(self.text, ordered)[0])


@dataclass(frozen=True, slots=True)
class Document:
    """The places of a text, whose spans do not overlap.

    notes      remarks for the user, in sentences
    languages  the languages that each part of the file declares
    """

    source: Source
    places: Sequence[Place]
    notes: Sequence[str] = ()
    languages: Sequence[Languages] = ()

    @property
    def units(self) -> list[Unit]:
        """All units, in order, with duplicates."""
        return [place.unit for place in self.places]

    def rendered(self, translations: Sequence[Words]) -> bytes:
        """Returns the file with the translation of each unit in its place."""
        edits: list[Edit] = []
        for (unit, spans, write), translation in checked(zip(self.places, translations, strict=True)):
            if translation != unit.words:
                edits += [Edit(*span, new) for span, new in zip(spans, write(translation), strict=True)]
        return self.source.edited(edits)


def whole(text: str, span: Span) -> Place:
    """Makes the place of a plain text that is written as it is."""
    return Place(Unit(text), (span,), lambda translation: [translation])


def trimmed(text: str, span: Span) -> Span:
    """Returns the span without white space at its ends; an empty span at its begin if nothing is left."""
    part = text[slice(*span)]
    begin = span[1] - len(part.lstrip())
    return (begin, span[0] + len(part.rstrip())) if part.strip() else (span[0], span[0])


def broken(text: str, at: int, said: str) -> DocumentError:
    """Makes the error at the offset `at`."""
    return DocumentError(f"line {text.count(chr(10), 0, at) + 1}: {said}")


def read_source(content: bytes) -> Source:
    """Returns the text of a file. Raises CpunmtError for other encodings than UTF-8 and UTF-16.

    A page or XML of ASCII that declares another encoding gets references, such as `&#252;`, for other characters.
    """
    mark, name = next(((mark, name) for mark, name in _BYTE_ORDER_MARKS if content.startswith(mark)), (b"", "utf-8"))
    if not name:
        raise CpunmtError(f"is UTF-32; {_EXPECTED}")
    if not mark and (found := _unmarked(content[:_MOST])):
        raise CpunmtError(f"looks like UTF-16 without its byte order mark; name its encoding (encoding={found})")
    try:
        text = content[len(mark) :].decode(name)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start + len(mark)) + 1
        shown = name.upper().removesuffix("-LE").removesuffix("-BE")
        raise CpunmtError(
            f"line {line}, byte {error.start + len(mark) + 1} of the file: is not {shown}; {_EXPECTED}"
        ) from None
    if not mark and text[:_BEGINNING].lstrip().startswith("<") and text.isascii():
        declared = _DECLARED.search(text, 0, _BEGINNING)
        if declared and declared[1].lower() not in ("utf-8", "utf8"):
            return Source(text, Encoding(mark, "ascii", "xmlcharrefreplace"))
    return Source(text, Encoding(mark, name))


def _unmarked(beginning: bytes) -> str:
    """Returns the name of UTF-16 if the file begins with it: every second byte, and only these, is a NUL."""
    first, second = beginning[::2], beginning[1::2]
    if len(beginning) < _LEAST:
        return ""
    if not any(second) and all(first):
        return "utf-16-le"
    return "utf-16-be" if not any(first) and all(second) else ""


class Recoded:
    """A text file in an encoding that the caller named, as `Contents`."""

    def __init__(self, content: bytes, encoding: str, read: Callable[[bytes], Contents]):
        """Decodes the file. Raises DocumentError if Python does not know `encoding`, or the file is not in it."""
        if content.startswith(_BINARY):
            raise DocumentError(f"encoding={encoding!r} is given, but this is not a text file; leave it out")
        self._name = _known(encoding)
        try:
            text = content.decode(self._name)
        except UnicodeError as error:
            raise DocumentError(
                f"is not {encoding} ({error}); look which one it is, for example with file -i"
            ) from None
        self._contents = read(text.encode("utf-8"))
        if text.encode(self._name) != content:
            raise DocumentError(f"{encoding} would not keep its bytes; convert it to UTF-8, for example with iconv")

    @property
    def units(self) -> list[Unit]:
        """The units of the text."""
        return self._contents.units

    @property
    def notes(self) -> Sequence[str]:
        """The notes of the text."""
        return getattr(self._contents, "notes", ())

    @property
    def languages(self) -> Sequence[Languages]:
        """The languages that the text declares."""
        return getattr(self._contents, "languages", ())

    def rendered(self, translations: Sequence[Words]) -> bytes:
        """Returns the file in its own encoding. Raises DocumentError if that lacks a character of a translation."""
        text = self._contents.rendered(translations).decode("utf-8")
        try:
            return text.encode(self._name)
        except UnicodeEncodeError as error:
            lacking = text[error.start : error.start + 1]
            raise DocumentError(
                f"{lacking!r} of the translation does not exist in {self._name}; convert the file to UTF-8 first"
            ) from None


def _known(encoding: str) -> str:
    try:
        name = codecs.lookup(encoding).name
        "".encode(name)  # not every codec decodes text
    except (LookupError, ValueError):  # ValueError: a NUL in it
        name = _NO_FILES[0]
    if name.replace("-", "_") in _NO_FILES or name in _NO_FILES:
        raise DocumentError(
            f"encoding={encoding!r} is not known, expected a name such as cp1252, iso-8859-2 or shift_jis"
        )
    return name
