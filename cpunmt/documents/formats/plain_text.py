"""Plain text and HTML. An HTML page is one unit; the option `html` decides what is translated.

In plain text each paragraph is a unit; separators of paragraphs and tabs stay. If lines were broken at a fixed width,
each paragraph is joined, and broken into lines again.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from functools import partial

from cpunmt.documents.document import Document, Place, Source, Span, trimmed, whole
from cpunmt.documents.formats.broken_lines import are_broken, groups, joined, stands_alone
from cpunmt.markup.units import Unit
from cpunmt.text.signs import has_letters

_LINE = re.compile(r"[^\n]*\n?")
_CELL = re.compile(r"[^\t\r\n]+")
_NOTE = "its lines end where they are full: they are joined to paragraphs, and broken again"


def read_plain_text(source: Source) -> Document:
    """Reads a unit for each run of lines that are not blank, or for each paragraph where lines are broken.

    Units have no white space at their ends.
    """
    text = source.text
    runs = _paragraphs(text)
    lines = [line for run in runs for line in ["", *(_line(text, span) for span in _lines(text, run))]]
    if are_broken(lines):
        width = max(map(len, lines))
        places = [place for run in runs for place in _joined(source, run, width)]
        return Document(source, places, (_NOTE,))
    spans = [span for run in runs for span in (_cells(text, run) if text.find("\t", *run) >= 0 else [run])]
    cut = [trimmed(text, span) for span in spans]
    return Document(source, [whole(text[slice(*span)], span) for span in cut if has_letters(text[slice(*span)])])


def _line(text: str, span: Span) -> str:
    return " ".join(text[slice(*span)].split())


def _lines(text: str, run: Span) -> list[Span]:
    """Returns the spans of the lines of a run."""
    return [line.span() for line in _LINE.finditer(text, *run) if line[0]]


def _cells(text: str, run: Span) -> list[Span]:
    """Returns the spans between tabs and line ends."""
    return [cell.span() for cell in _CELL.finditer(text, *run)]


def _joined(source: Source, run: Span, width: int) -> Iterator[Place]:
    """Yields the places of a run with broken lines: its paragraphs, or the cells of those with tabs."""
    text = source.text
    spans = _lines(text, run)
    lines = [_line(text, span) for span in spans]
    for begin, end in groups(lines, width):
        span = trimmed(text, (spans[begin][0], spans[end - 1][1]))
        words = joined(lines[begin:end])
        if text.find("\t", *span) >= 0:
            cells = [trimmed(text, cell) for cell in _cells(text, span)]
            yield from (whole(text[slice(*cell)], cell) for cell in cells if has_letters(text[slice(*cell)]))
        elif has_letters(words) and stands_alone(lines[begin]):
            yield whole(text[slice(*span)], span)
        elif has_letters(words):
            second = text[slice(*spans[begin + 1])] if end - begin > 1 else ""
            indent = source.line_end + second[: len(second) - len(second.lstrip())]
            yield Place(Unit(words), (span,), partial(_wrapped, width=width, between=indent))


def _wrapped(text: str, width: int, between: str) -> list[str]:
    return [between.join(textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False))]


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


def read_web_page(source: Source) -> Document:
    """Reads the page as one unit; without letters it has zero units."""
    if not has_letters(source.text):
        return Document(source, ())
    page = Place(Unit(source.text, True), ((0, len(source.text)),), lambda translation: [translation])
    return Document(source, (page,))
