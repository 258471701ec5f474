"""What stands in a paragraph of Markdown and is no text."""

from __future__ import annotations

from typing import Literal, NamedTuple


class Tag(NamedTuple):
    """A part of a paragraph that has its place among the words.

    kind    "open" and "close": the two ends of what stands around words; "point": what stands by itself
    name    the element of HTML that it is like, whose rules hold for it
    source  as it is written
    alt     the text of an image; None: it is no image
    tail    of an image what stands behind its text
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
        """Its text where it is a part of the text of an image."""
        return self.source.strip("`<>$") if self.name == "code" else ""


class Spelt(str):
    """A text that was written with a backslash or as a reference."""

    __slots__ = ()
