"""Files in another encoding than those of Unicode: read, and written again, by way of UTF-8."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Sequence

from cpunmt.documents.document import Contents, DocumentError
from cpunmt.markup.units import Unit, Words

_NO_FILES = ("idna", "punycode", "unicode_escape", "raw_unicode_escape", "utf-7", "undefined")  # Python's other codecs
_BINARY = (b"PK\x03\x04", b"%PDF", b"\xd0\xcf\x11\xe0")


class Recoded:
    """A text file in the encoding that its reader was told, as `Contents`."""

    def __init__(self, content: bytes, encoding: str, read: Callable[[bytes], Contents]):
        """`encoding` by a name that Python knows. Raises DocumentError if there is none, or the file is not in it."""
        if content.startswith(_BINARY):
            raise DocumentError(f"encoding={encoding!r} is given, but this is no text file; leave it out")
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
        """Those of the text."""
        return self._contents.units

    @property
    def notes(self) -> Sequence[str]:
        """The notes of the text."""
        return getattr(self._contents, "notes", ())

    def rendered(self, translations: Sequence[Words]) -> bytes:
        """The file in its own encoding. Raises DocumentError if that lacks a character of a translation."""
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
        "".encode(name)  # not every codec is one of text
    except (LookupError, ValueError):  # ValueError: a NUL in it
        name = _NO_FILES[0]
    if name.replace("-", "_") in _NO_FILES or name in _NO_FILES:
        raise DocumentError(
            f"encoding={encoding!r} is not known, expected a name such as cp1252, iso-8859-2 or shift_jis"
        )
    return name
