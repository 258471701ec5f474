"""The paragraphs of one part of a file. They may nest: a note or a text box is within a paragraph."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import repeat
from operator import itemgetter
from typing import Any, NamedTuple

from cpunmt.alignment.edits import Edit, edited
from cpunmt.documents.archives.zip_file import Archive
from cpunmt.documents.document import DocumentError, Source, Span, read_source
from cpunmt.documents.office.segments import Framed, Items, Segment, segments
from cpunmt.documents.xml_nodes import BESIDE, Node, check_depth, nodes
from cpunmt.errors import CancelledError, CpunmtError, TimeLimitError
from cpunmt.markup.units import Unit, Words
from cpunmt.process.stopping import checked


class Part(NamedTuple):
    """A member of an archive, with its elements of the requested names."""

    source: Source
    nodes: list[Node]

    @property
    def text(self) -> str:
        """The text of the member."""
        return self.source.text


def read_part(archive: Archive, name: str, prefixes: Mapping[str, str], names: Collection[str]) -> Part:
    """Returns a member of an archive, with its elements of these names, see `nodes`. Errors name the member."""
    content = archive.read(name)
    try:
        source = read_source(content)
        found = list(nodes(source.text, prefixes, names))
        check_depth(source.text, found)
        return Part(source, found)
    except (CancelledError, TimeLimitError):
        raise
    except CpunmtError as error:
        raise DocumentError(f"{name} in it: {error}") from None


class Paragraphs:
    """The `Contents` of a part.

    Parameters
    ----------
    part  the part
    paragraphs  the items of each, in the order of their beginnings
    framed  writes a text in this format
    copies  for each paragraph, an element that repeats its text, or None; it is removed if the text changes
    """

    def __init__(
        self, part: Part, paragraphs: Iterable[Items], framed: Framed, copies: Iterable[Span | None] | None = None
    ):
        self._source = part.source
        pairs = zip(paragraphs, repeat(None) if copies is None else copies, strict=False)
        found = ((Segment(items, framed), copy) for paragraph, copy in pairs for items in segments(paragraph))
        self._segments = sorted(found, key=lambda pair: pair[0].span)

    @property
    def units(self) -> list[Unit]:
        """All units of the paragraphs; an inner paragraph's follow those of the outer one."""
        return [segment.unit for segment, _ in self._segments]

    def rendered(self, translations: Sequence[Words]) -> bytes:
        """Returns the part; its bytes outside changed units stay."""
        text = self._source.text
        changes: dict[Span, tuple[Segment, Words] | None] = {}  # None: the span is removed
        for (segment, copy), translation in checked(zip(self._segments, translations, strict=True)):
            if translation != segment.unit.words:
                changes[segment.span] = segment, translation
                if copy is not None:
                    changes[copy] = None
        edits: list[Edit] = []  # the first one last; inner edits come before outer ones
        for begin, end in checked(sorted(changes, reverse=True)):
            change = changes[begin, end]
            inner = []
            while edits and edits[-1][0] < end:
                inner.append(edits.pop())
            write = partial(_edited, text, edits=inner)
            edits.append(Edit(begin, end, change[0].write(change[1], write) if change else ""))
        edits.reverse()
        return self._source.encoding.encoded(_edited(text, 0, len(text), edits))


def _edited(text: str, begin: int, end: int, edits: list[Edit]) -> str:
    """Returns a part of a text with the edits that begin in it."""
    low, high = (bisect_left(edits, at, key=itemgetter(0)) for at in (begin, end))
    inner = [Edit(edit.begin - begin, edit.end - begin, edit.text) for edit in edits[low:high]]
    return edited(text[begin:end], inner)[0]


def canonical(node: Node, ignored: frozenset[str] = frozenset()) -> tuple[Any, ...]:
    """Returns an element in a canonical form; `ignored` names attributes and elements without a meaning."""
    children = tuple(
        canonical(child, ignored)
        for child in node.children
        if child.name not in ignored and child.name != BESIDE and (child.name or child.text)
    )
    named = tuple(sorted((name, value) for name, value in node.attributes.items() if name not in ignored))
    return (node.name, node.text, named, children)


def inside(found: Iterable[Node], names: frozenset[str], without: frozenset[str] = frozenset()) -> Iterator[Node]:
    """Yields all elements of these names in the order of their beginnings; skips those within elements of `without`."""
    waiting = list(found)[::-1]
    while waiting:
        node = waiting.pop()
        if node.name in without:
            continue
        if node.name in names:
            yield node
        waiting += reversed(node.children)
