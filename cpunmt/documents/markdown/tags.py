"""The tags in a paragraph of Markdown, and texts that were written in another way."""

from __future__ import annotations

from typing import Literal, NamedTuple


class Tag(NamedTuple):
    """A part of a paragraph that has its place among the words.

    kind    "open" and "close" for the two ends of an element, "point" for one that stands by itself
    name    the element of HTML whose rules it follows
    source  as it is written
    alt     the text of an image, None for other tags
    tail    of an image, the source behind its text
    is_raw  whether the source is a tag of HTML
    """

    kind: Literal["open", "close", "point"]
    name: str
    source: str
    alt: str | None = None
    tail: str = ""
    is_raw: bool = False

    @property
    def shown(self) -> str:
        """Its text within the text of an image."""
        return self.source.strip("`<>$") if self.name == "code" else ""


class Spelt(str):
    """A text that was written with a backslash or as a reference."""

    __slots__ = ()
