"""Units of documents: texts, texts with marks in them, and pages. They are translated as structures, never as markup.

A mark is a part of a unit that is not text but has its place among the words:

g  two of them stand around words: emphasis
x  stands beside a word: a line break
k  is a part of the sentence, and stays: code
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

MarkKind = Literal["g", "x", "k"]


class Mark(NamedTuple):
    """A mark of a unit.

    number  of what it stands for
    closes  of `g`: whether it is the second of the two
    tag     of a page: the HTML that it is read as. Its attributes may be translated
    """

    kind: MarkKind
    number: int
    closes: bool = False
    tag: str = "\ufffc"


Part = str | Mark
Words = str | tuple[Part, ...]  # a text, or texts and marks; no two texts are neighbours, and none is empty


class Unit(NamedTuple):
    """A part of a document that is translated by itself: one sentence, or several that belong together.

    is_page  whether it is HTML; if it has marks, these are its tags, and the rest is text
    """

    words: Words
    is_page: bool = False


def unit_of(parts: Iterable[Part]) -> Unit:
    """Returns the unit of these texts and marks, whose `g` nest."""
    return Unit(words_of(parts))


def words_of(parts: Iterable[Part]) -> Words:
    """Joins texts that are neighbours, and leaves out empty ones; parts without marks are one text."""
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
