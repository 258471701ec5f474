"""The bytes of a file as text, and the text as the same bytes again."""

from __future__ import annotations

import codecs
from typing import NamedTuple

from cpunmt.errors import CpunmtError

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, ""),  # begins as that of UTF-16 does
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_EXPECTED = "expected UTF-8, or UTF-16 with its byte order mark; name its encoding (--encoding cp1252), or convert it"
_LEAST, _MOST = 16, 64  # bytes that tell UTF-16 without its mark


class Encoding(NamedTuple):
    """How a text is written as bytes: the byte order mark, which may be empty, and Python's name of the encoding."""

    mark: bytes = b""
    name: str = "utf-8"

    def encoded(self, text: str) -> bytes:
        """The bytes of a file."""
        return self.mark + text.encode(self.name)


def decoded(content: bytes) -> tuple[str, Encoding]:
    """The text of a file, and how it was encoded. Raises CpunmtError for other encodings than UTF-8 and UTF-16."""
    mark, name = next(((mark, name) for mark, name in _MARKS if content.startswith(mark)), (b"", "utf-8"))
    if not name:
        raise CpunmtError(f"is UTF-32; {_EXPECTED}")
    if not mark and (found := _unmarked(content[:_MOST])):
        raise CpunmtError(f"looks like UTF-16 without its byte order mark; name its encoding (--encoding {found})")
    try:
        return content[len(mark) :].decode(name), Encoding(mark, name)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start + len(mark)) + 1
        shown = name.upper().removesuffix("-LE").removesuffix("-BE")
        raise CpunmtError(
            f"line {line}, byte {error.start + len(mark) + 1} of the file: is not {shown}; {_EXPECTED}"
        ) from None


def _unmarked(beginning: bytes) -> str:
    """The name of UTF-16, if that is what a file begins with: every second byte is a NUL, and none of the others."""
    first, second = beginning[::2], beginning[1::2]
    if len(beginning) < _LEAST:
        return ""
    if not any(second) and all(first):
        return "utf-16-le"
    return "utf-16-be" if not any(first) and all(second) else ""
