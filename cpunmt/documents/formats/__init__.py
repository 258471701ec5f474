"""The formats: how each is called, which files have it, and what reads it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from cpunmt.documents.document import Document, DocumentError, Source
from cpunmt.documents.formats.markdown import read_markdown
from cpunmt.documents.formats.plain_text import read_plain_text
from cpunmt.documents.formats.subtitles import read_srt, read_vtt
from cpunmt.documents.formats.web_page import read_web_page


class Format(NamedTuple):
    """A format: the endings of its files' names, and its reader."""

    endings: tuple[str, ...]
    read: Callable[[Source], Document]


FORMATS: dict[str, Format] = {
    "txt": Format((".txt", ".text"), read_plain_text),
    "html": Format((".html", ".htm", ".xhtml"), read_web_page),
    "md": Format((".md", ".markdown"), read_markdown),
    "srt": Format((".srt",), read_srt),
    "vtt": Format((".vtt",), read_vtt),
}


def format_of(name: str, chosen: str | None) -> Format:
    """The format of the file `name`; `chosen`: a name of FORMATS, or None: what the file's name ends with.

    Raises DocumentError for a name or an ending that is not known.
    """
    if chosen is None:
        found = next((key for key, known in FORMATS.items() if name.lower().endswith(known.endings)), None)
        if found is None:
            endings = " ".join(ending for known in FORMATS.values() for ending in known.endings)
            raise DocumentError(f"its name ends with none of {endings}; choose one of these, or give its format")
    elif chosen in FORMATS:
        found = chosen
    else:
        raise DocumentError(f"the format {chosen!r} is not known, expected one of {', '.join(FORMATS)}")
    return FORMATS[found]
