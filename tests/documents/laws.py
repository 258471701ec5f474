"""What holds of every format, and how a test makes a Document."""

import functools
import re
import unicodedata

from cpunmt.alignment.aligned import Aligned
from cpunmt.documents.bulk import translated
from cpunmt.documents.document import Source
from cpunmt.documents.encodings import decoded
from tests.support.echo import Echo


@functools.cache
def echo(change=None) -> Echo:
    """One that gives back what it is given, or changes each word."""
    return Echo(change) if change else Echo()


# With the signs above and below letters, as in Hindi, which are no letters of words for `re`
_MARKS = "".join(sign for sign in map(chr, range(0x300, 0x10000)) if unicodedata.category(sign)[0] == "M")
_UNIT = re.compile(rf"(?:\{{\d+\}}|\w|[{_MARKS}])+|[^\w\s]")


@functools.cache
def backwards() -> Echo:
    """Returns a translator that reverses the words of a sentence; signs and spaces stay in place."""
    found = Echo()
    found.layer = lambda texts, align: [_backwards(text, align) for text in texts]
    return found


def _backwards(text: str, align: bool) -> Aligned:
    units = [match.span() for match in _UNIT.finditer(text)]
    moved = [number for number, (begin, end) in enumerate(units) if text[begin].isalnum() or end - begin > 2]
    origins = dict(zip(moved, reversed(moved), strict=True))
    target, at, spans, links = "", 0, [], []
    for number, (begin, end) in enumerate(units):
        target += text[at:begin]
        origin = origins.get(number, number)
        word = text[slice(*units[origin])]
        spans.append((len(target), len(target) + len(word)))
        links.append((origin, number))
        target, at = target + word, end
    return Aligned(text, target + text[at:], units, spans, links) if align else Aligned(text, target + text[at:])


def upper(word):
    return word.upper()


def document_of(read, text, **settings):
    content = text if isinstance(text, bytes) else text.encode("utf-8")
    return read(Source(*decoded(content)), **settings)


def render(read, text, change=None, *, by=None, **settings) -> str:
    """Returns the translated file; the translator is `by`, or changes each word by `change`."""
    document = document_of(read, text, **settings)
    found = document.rendered(translated(document.units, by or echo(change), {}, lambda count: None))
    return found.decode("utf-8")


def keeps_every_byte(read, content: bytes, **settings) -> None:
    """The identity law: through the real layers of texts, and with the units themselves."""
    document = document_of(read, content, **settings)
    assert document.rendered([unit.text for unit in document.units]) == content
    assert document.rendered(translated(document.units, echo(), {}, lambda count: None)) == content


def rewritten(read, text, **settings) -> int:
    """Read a file and write it again with other texts; how many it has."""
    document = document_of(read, text, **settings)
    document.rendered([unit.text + " b" for unit in document.units])
    return len(document.units)
