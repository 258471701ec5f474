"""Plain text: a paragraph is a unit, and what separates paragraphs stays."""

from __future__ import annotations

import re

from cpunmt.documents.document import Document, Source, has_letters, whole

_LINE = re.compile(r"[^\n]*\n?")


def read_plain_text(source: Source) -> Document:
    """A unit for each run of lines that are not blank, without white space at its ends."""
    text, places = source.text, []
    for begin, end in _paragraphs(text):
        part = text[begin:end]
        begin, end = begin + len(part) - len(part.lstrip()), end - len(part) + len(part.rstrip())
        if has_letters(text[begin:end]):
            places.append(whole(text[begin:end], (begin, end)))
    return Document(source, places)


def _paragraphs(text: str) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    begin = end = 0
    for line in _LINE.finditer(text):
        if line[0].isspace() or not line[0]:
            if begin < end:
                found.append((begin, end))
            begin = end = line.end()
        else:
            end = line.end()
    if begin < end:
        found.append((begin, end))
    return found
