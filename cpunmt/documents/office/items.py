"""A paragraph as all office formats have it: texts in frames that say how they look, and what stands between them.

A paragraph is taken apart into items, cut into segments, and each segment is a unit. Office programs cut texts into
many frames that look alike (Word notes in which session a letter was typed), so a frame is a mark only where it looks
other than most of the segment does: "big wor" + "ld" is one text.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Literal

from cpunmt.documents.document import has_letters

WHITE = " \t\r\n"
_ENDS = (".", "!", "?")  # of sentences
Looks = tuple[Hashable, ...]  # of all frames around a text


Kind = Literal["text", "x", "k", "range", "break", "split"]


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """An element around texts that says how they look: a run, a span.

    parent   the frame around it
    begin    where it begins, and `content` where what is in it begins; `end` and `content_end` alike
    opening  what is written to begin another one like it, and `closing` to end it
    look     equal for frames that look alike
    raises   whether it makes a superscript or subscript
    """

    parent: Frame | None
    begin: int
    content: int
    content_end: int
    end: int
    opening: str
    closing: str
    look: Hashable
    raises: bool = False

    @property
    def all_openings(self) -> str:
        """With those of the frames around it."""
        return (self.parent.all_openings if self.parent else "") + self.opening

    @property
    def all_closings(self) -> str:
        """With those of the frames around it."""
        return self.closing + (self.parent.all_closings if self.parent else "")

    @property
    def is_raised(self) -> bool:
        """Whether it, or a frame around it, makes a superscript or subscript."""
        return self.raises or (self.parent is not None and self.parent.is_raised)

    @property
    def all_looks(self) -> Looks:
        """Of all frames, but for what looks like nothing."""
        own = (self.look,) if self.look else ()
        return (self.parent.all_looks if self.parent else ()) + own


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """A part of a paragraph that has no such parts.

    kind   "text"
           "x": stands beside a word, and is placed with it
           "k": is a part of the sentence, and stays as it is
           "range": begins or ends a range (a bookmark, a comment); as "x", but these keep their order
           "break": begins a new line, within a sentence or not
           "split": no sentence goes over it
    frame  in which it begins, and `last` in which it ends
    text   of a text, without references
    """

    kind: Kind
    begin: int
    end: int
    frame: Frame | None
    last: Frame | None
    text: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Container:
    """What stands around items, but is no look of theirs: a link, an insertion."""

    opening: Item
    items: list[Item | Container]
    closing: Item
    kind: Literal["container"] = "container"


Items = list[Item | Container]
Source = Callable[[int, int], str]  # begin and end -> what stands there, with the translations of what is in it


def texts(items: Items) -> Iterator[Item]:
    """All texts in these items."""
    for item in items:
        if isinstance(item, Container):
            yield from texts(item.items)
        elif item.kind == "text":
            yield item


def segments(items: Items) -> Iterator[Items]:
    """What is translated by itself: from one split to the next, without what stands before and after all words.

    A break is a split, too, unless the text before it ends no sentence and a small letter follows. What is in a
    container is cut only if all text is.
    """
    group: Items = []
    for item, goes_on in zip([*items, None], [*_going_on(items), False], strict=True):
        if item is None or item.kind == "split" or (item.kind == "break" and not goes_on):
            group = _core(group)
            if len(group) == 1 and isinstance(group[0], Container):
                yield from segments(group[0].items)
            elif has_letters("".join(text.text for text in texts(group))):
                yield group
            group = []
        else:
            group.append(item)


def _going_on(items: Items) -> list[bool]:
    """Of each item whether the text before it ends no sentence, and the next sign of one after it is a small letter."""
    words = [[text.text.strip(WHITE) for text in texts([item]) if text.text.strip(WHITE)] for item in items]
    found: list[bool] = []
    ends = False
    for before in words:
        found.append(not ends)
        ends = before[-1].endswith(_ENDS) if before else ends
    goes_on = False
    for at in range(len(items) - 1, -1, -1):
        found[at] = found[at] and goes_on
        goes_on = words[at][0][0].islower() if words[at] else goes_on
    return found


def _core(group: Items) -> Items:
    begin, end = 0, len(group)
    while begin < end and _is_outside(group[begin]):
        begin += 1
    while begin < end and _is_outside(group[end - 1]):
        end -= 1
    return group[begin:end]


def _is_outside(item: Item | Container) -> bool:
    if isinstance(item, Container):
        return not any(text.text.strip(WHITE) for text in texts([item]))
    return item.kind != "k" and not (item.kind == "text" and item.text.strip(WHITE))
