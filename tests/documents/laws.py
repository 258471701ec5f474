"""Laws of every format, and helpers that read and write documents."""

import functools
import re
import unicodedata

from cpunmt.alignment.aligned import Aligned
from cpunmt.documents.document import read_source
from cpunmt.documents.translate import translated
from cpunmt.markup.units import Mark, parts_of, words_of
from tests.support.echo import Echo


@functools.cache
def echo(change=None) -> Echo:
    """Returns a translator that returns its input, or changes each word."""
    return Echo(change) if change else Echo()


# With the signs above and below letters, as in Hindi, which `re` does not count as word characters
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


_TAG = re.compile(r'<(/?)([gxk])(?: n="(\d+)")?/?>')


def shown(unit) -> str:
    """Returns the words of a unit, with its marks as tags: `<g n="1">`, `</g>`, `<x n="2"/>`, `<k n="3"/>`."""

    def tag(kind, number, closes, html):
        return html if unit.is_page else "</g>" if closes else f'<{kind} n="{number}"{">" if kind == "g" else "/>"}'

    return "".join(part if isinstance(part, str) else tag(*part) for part in parts_of(unit.words))


def words(text):
    """Returns the words that `shown` displays in this form."""
    parts, opened, at = [], [], 0
    for tag in _TAG.finditer(text):
        parts.append(text[at : tag.start()])
        at = tag.end()
        number = opened.pop() if tag[1] else int(tag[3])
        opened += [number] * (tag[2] == "g" and not tag[1])
        parts.append(Mark(tag[2], number, tag[1] == "/"))
    return words_of([*parts, text[at:]])


def changed(unit, change):
    """Returns the words of a unit, with each text changed."""
    return words_of(part if isinstance(part, Mark) else change(part) for part in parts_of(unit.words))


def written(document, change) -> str:
    """Returns the file with each text of its units changed."""
    return document.rendered([changed(unit, change) for unit in document.units]).decode()


def document_of(read, text, **settings):
    content = text if isinstance(text, bytes) else text.encode("utf-8")
    return read(read_source(content), **settings)


def render(read, text, change=None, *, by=None, **settings) -> str:
    """Returns the translated file; the translator is `by`, or changes each word by `change`."""
    document = document_of(read, text, **settings)
    found = document.rendered(translated(document.units, by or echo(change), {}, lambda count: None))
    return found.decode("utf-8")


def keeps_every_byte(read, content: bytes, **settings) -> None:
    """Checks the identity law through the real layers of texts, and with the units themselves."""
    document = document_of(read, content, **settings)
    assert document.rendered([unit.words for unit in document.units]) == content
    assert document.rendered(translated(document.units, echo(), {}, lambda count: None)) == content


def rewritten(read, text, **settings) -> int:
    """Writes a file again with other texts; returns their number."""
    document = document_of(read, text, **settings)
    written(document, lambda text: text + " b")
    return len(document.units)
