"""HTML: the page is one unit, of which the option `html` says what is translated."""

from __future__ import annotations

from cpunmt.documents.document import Document, Place, Source, Unit, has_letters


def read_web_page(source: Source) -> Document:
    """One unit, or none where there are no letters."""
    if not has_letters(source.text):
        return Document(source, ())
    page = Place(Unit(source.text, "html"), ((0, len(source.text)),), lambda translation: [translation])
    return Document(source, (page,))
