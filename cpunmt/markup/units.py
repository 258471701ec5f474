"""Units of documents: texts, texts with marks in them, and pages. They are translated as structures, never as markup.

A mark is a part of a unit that is not text but has its place among the words:

g  a pair around words: emphasis
x  stands beside a word: a line break
k  is a part of the sentence, and stays: code
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from typing import Literal, NamedTuple

from cpunmt.errors import CpunmtError
from cpunmt.process.stopping import check

MarkKind = Literal["g", "x", "k"]


class Mark(NamedTuple):
    """A mark of a unit.

    number  identifies the original
    closes  for `g`: whether it is the second of a pair
    tag     for a page: the HTML that replaces it while parsing. Its attributes may be translated
    """

    kind: MarkKind
    number: int
    closes: bool = False
    tag: str = "\ufffc"


Part = str | Mark
Words = str | tuple[Part, ...]  # a text, or texts and marks; texts are not empty, and two texts are never neighbours


class _Bound:
    """The numbers of units and of their characters that may still be made."""

    def __init__(self, units: int, characters: int):
        self._limits, self._units, self._characters = (units, characters), units, characters

    def count(self, words: Words) -> None:
        """Counts a new unit. Raises CpunmtError for one too many."""
        self._units -= 1
        self._characters -= len(bare(parts_of(words)))
        if self._units < 0 or self._characters < 0:
            units, characters = self._limits
            raise CpunmtError(f"has more than {units} texts, or {characters} characters in them; cut it into parts")


_BOUND: ContextVar[_Bound | None] = ContextVar("cpunmt bound of units", default=None)


@contextlib.contextmanager
def bounded(units: int, characters: int) -> Iterator[None]:
    """Limits the units that are made within, and their characters: one too many raises CpunmtError."""
    before = _BOUND.set(_Bound(units, characters))
    try:
        yield
    finally:
        _BOUND.reset(before)


class _Unit(NamedTuple):
    words: Words
    is_page: bool = False


class Unit(_Unit):
    """A part of a document that is translated separately: one sentence, or several that belong together.

    Making one may raise the errors of `stopping.check` and `bounded`, so no reader goes on beyond its limits.

    is_page  whether it is HTML; if it has marks, these are its tags, and the rest is text
    """

    __slots__ = ()

    def __new__(cls, words: Words, is_page: bool = False) -> Unit:
        check()
        if (bound := _BOUND.get()) is not None:
            bound.count(words)
        return super().__new__(cls, words, is_page)


def unit_of(parts: Iterable[Part]) -> Unit:
    """Returns the unit of these texts and marks; `g` marks nest."""
    return Unit(words_of(parts))


def words_of(parts: Iterable[Part]) -> Words:
    """Joins neighbouring texts, and drops empty ones; parts without marks are one text."""
    made: list[Part] = []
    for part in parts:
        if isinstance(part, Mark):
            made.append(part)
        elif part:
            if made and isinstance(made[-1], str):
                made[-1] += part
            else:
                made.append(part)
    return "".join(map(str, made)) if all(isinstance(part, str) for part in made) else tuple(made)


def parts_of(words: Words) -> tuple[Part, ...]:
    """Returns the texts and marks of a unit."""
    return (words,) if isinstance(words, str) else words


def bare(parts: Iterable[Part]) -> str:
    """Returns the text of parts, without their marks."""
    return "".join([part for part in parts if isinstance(part, str)])


Sources = Mapping[tuple[int, bool], str]  # (number of a mark, whether it closes) -> its source text


class Marked:
    """A builder that converts texts and tags of a document into texts and marks. Tags that nest are `g`.

    sources  the originals of the marks
    """

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.sources: dict[tuple[int, bool], str] = {}
        self._count = 0
        self._opened: list[tuple[str, int]] = []  # names of tags, and their places among the parts

    def put(self, kind: MarkKind, source: str) -> None:
        """Adds a part that stands alone."""
        self._count += 1
        self.sources[self._count, False] = source
        self.parts.append(Mark(kind, self._count))

    def begin(self, name: str, kind: MarkKind, source: str) -> None:
        """Adds the first tag of an element; it gets `kind` if no other tag ends the element."""
        self._opened.append((name, len(self.parts)))
        self.put(kind, source)

    def end(self, name: str, kind: MarkKind, source: str) -> None:
        """Adds the last tag of an element; it gets `kind` if it does not belong to the innermost open one."""
        if not self._opened or self._opened[-1][0] != name:
            self.put(kind, source)
            return
        place = self._opened.pop()[1]
        begun = self.parts[place]
        assert isinstance(begun, Mark)
        self.parts[place] = begun._replace(kind="g")
        self.parts.append(Mark("g", begun.number, True))
        self.sources[begun.number, True] = source


def with_sources(words: Words, sources: Sources, written: Callable[[str], str] = str) -> str:
    """Returns a unit's translation in the document's format: `written` converts texts, `sources` replaces marks."""
    return "".join(
        [written(part) if isinstance(part, str) else sources[part.number, part.closes] for part in parts_of(words)]
    )
