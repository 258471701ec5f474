"""HTML: the page is one unit, of which the option `html` says what is translated."""

from __future__ import annotations

from cpunmt.documents.document import Document, Place, Source, has_letters
from cpunmt.markup.units import Unit


def read_web_page(source: Source) -> Document:
    """Reads one unit, or none where there are no letters."""
    if not has_letters(source.text):
        return Document(source, ())
    page = Place(Unit(source.text, True), ((0, len(source.text)),), lambda translation: [translation])
    return Document(source, (page,))
