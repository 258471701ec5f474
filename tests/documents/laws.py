"""What holds of every format, and how a test makes a Document."""

import functools
import time

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


def rewritten(read, text, **settings) -> int:
    """Read a file and write it again with other texts; how many it has."""
    document = document_of(read, text, **settings)
    document.rendered([unit.text + " b" for unit in document.units])
    return len(document.units)


def takes_linear_time(use, content, count) -> None:
    """What `use` does with `content(n)` takes time in proportion to n, from `count` to ten times that."""

    def seconds(size):
        made = content(size)
        began = time.process_time()
        use(made)
        return time.process_time() - began

    seconds(count // 10)
    short, long = min(seconds(count) for _ in range(3)), min(seconds(10 * count) for _ in range(2))
    assert long < 40 * max(short, 0.005), (short, long)
