"""What holds of every format, and how a test makes a Document."""

import functools

from cpunmt.documents.bulk import translated
from cpunmt.documents.document import Source
from cpunmt.documents.encodings import decoded
from tests.support.echo import Echo


@functools.cache
def echo(change=None) -> Echo:
    """One that gives back what it is given, or changes each word."""
    return Echo(change) if change else Echo()


def upper(word):
    return word.upper()


def document_of(read, text, **settings):
    content = text if isinstance(text, bytes) else text.encode("utf-8")
    return read(Source(*decoded(content)), **settings)


def render(read, text, change=None, **settings) -> str:
    """The file as the translator of words makes it."""
    document = document_of(read, text, **settings)
    found = document.rendered(translated(document.units, echo(change), {}, lambda count: None))
    return found.decode("utf-8")


def keeps_every_byte(read, content: bytes, **settings) -> None:
    """The identity law: through the real layers of texts, and with the units themselves."""
    document = document_of(read, content, **settings)
    assert document.rendered([unit.text for unit in document.units]) == content
    assert document.rendered(translated(document.units, echo(), {}, lambda count: None)) == content
