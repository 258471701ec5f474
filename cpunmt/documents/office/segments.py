"""Cuts a paragraph, in the common form of all office formats, into segments, each of which is a unit.

A paragraph consists of items: texts in frames that define their look, and other parts between them. Office programs cut
texts into many frames of the same look (Word records the editing session of each letter), so a frame becomes a mark
only if its look differs from most of the segment: "big wor" + "ld" is one text.

The translation of a segment is written in its own order: each text in a frame like that of its mark, with the other
parts between them as in the source. Frames that extend beyond the segment are closed before it and opened again behind
it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from cpunmt.documents.document import Span
from cpunmt.markup.units import Mark, MarkKind, Part, Words, parts_of, unit_of, words_of
from cpunmt.text.signs import has_letters

WHITE = " \t\r\n"
_ENDS = (".", "!", "?")  # ends of sentences
_SPACES = re.compile(f"[{WHITE}]+")
_NO_LOOK = re.compile(r" ?[.,;:!?]? ?")  # texts too short to show a look such as bold
Looks = tuple[Hashable, ...]  # looks of all frames around a text


Kind = Literal["text", "x", "k", "range", "break", "split"]


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """An element around texts that defines their look: a run, a span.

    parent   the frame around it
    begin    begin of the element, and `content` that of its content; `end` and `content_end` likewise
    opening  source that opens another one like it, and `closing` that closes it
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
        """The opening tags of this frame and all frames around it."""
        return (self.parent.all_openings if self.parent else "") + self.opening

    @property
    def all_closings(self) -> str:
        """The closing tags of this frame and all frames around it."""
        return self.closing + (self.parent.all_closings if self.parent else "")

    @property
    def is_raised(self) -> bool:
        """Whether it, or a frame around it, makes a superscript or subscript."""
        return self.raises or (self.parent is not None and self.parent.is_raised)

    @property
    def all_looks(self) -> Looks:
        """The looks of this frame and of those around it."""
        own = (self.look,) if self.look else ()
        return (self.parent.all_looks if self.parent else ()) + own


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """A part of a paragraph that does not contain other items.

    kind   "text" "x": stands beside a word, and is placed with it "k": is a part of the sentence, and stays "range":
           begins or ends a range (a bookmark, a comment); like "x", but these keep their order "break": begins a new
           line, within a sentence or not "split": always separates sentences
    frame  frame of its beginning, and `last` that of its end
    text   its text, without references
    """

    kind: Kind
    begin: int
    end: int
    frame: Frame | None
    last: Frame | None
    text: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Container:
    """An element around items that does not change their look: a link, an insertion."""

    opening: Item
    items: list[Item | Container]
    closing: Item
    kind: Literal["container"] = "container"


Items = list[Item | Container]
Framed = Callable[[Frame | None, str], str]  # writes a text in another frame like this one
Source = Callable[[int, int], str]  # (begin, end) -> the source there, with the translations in it


def texts(items: Items) -> Iterator[Item]:
    """Yields all texts in these items."""
    for item in items:
        if isinstance(item, Container):
            yield from texts(item.items)
        elif item.kind == "text":
            yield item


def segments(items: Items) -> Iterator[Items]:
    """Yields the segments between splits, without parts before the first word and behind the last.

    A break splits too, unless the text before it ends without a full stop and a small letter follows. A container is
    cut only if it contains all of the text.
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
    """Returns for each item whether the text before it is open, and the next text begins with a small letter."""
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


class Segment:
    """A unit, with the span that its translation replaces.

    Parameters
    ----------
    items  as `segments` yields them
    framed  writes a text in this format
    """

    def __init__(self, items: Items, framed: Framed):
        self._framed = framed
        found = list(texts(items))
        self._before, self._after = _edges(found)
        self._first, self._last = found[0], found[-1]
        self._frames: dict[Looks, Frame | None] = {}
        for item in found:
            self._frames.setdefault(_looks(item), item.frame)
        self._usual = _most(found)
        self._sources: dict[int, Item | Container | Looks] = {}
        self._ranges: list[Item] = []
        self._raised = _raised(found)
        parts: list[Part] = []
        self._add(items, parts, self._usual)
        self.span, self._entered, self._left = _widened(items)
        joined = parts_of(words_of(parts))
        self.unit = unit_of(_SPACES.sub(" ", part) if isinstance(part, str) else part for part in joined)

    def _add(self, items: Items, parts: list[Part], usual: Looks) -> None:
        look = usual
        number = 0
        for item in items:
            found = _looks(item) if isinstance(item, Item) and item.kind == "text" else usual
            if found not in (look, usual) and isinstance(item, Item) and _NO_LOOK.fullmatch(item.text):
                found = usual
            raised = self._raised.get(item) if isinstance(item, Item) else None
            if raised:
                found = look if raised == "x" else usual
            if found != look:
                if look != usual:
                    parts.append(Mark("g", number, True))
                if found != usual:
                    number = self._mark("g", found, parts)
                look = found
            if isinstance(item, Container):
                around = self._mark("g", item, parts)
                self._add(item.items, parts, _most(list(texts(item.items))))
                parts.append(Mark("g", around, True))
            elif item.kind == "text" and raised != "x":
                text = item.text.lstrip(WHITE) if item is self._first else item.text
                parts.append(text.rstrip(WHITE) if item is self._last else text)
            else:
                self._mark("k" if item.kind == "k" else "x", item, parts)
                if item.kind == "range":
                    self._ranges.append(item)
        if look != usual:
            parts.append(Mark("g", number, True))

    def _mark(self, kind: MarkKind, source: Item | Container | Looks, parts: list[Part]) -> int:
        number = len(self._sources) + 1
        self._sources[number] = source
        parts.append(Mark(kind, number))
        return number

    def write(self, translation: Words, source: Source) -> str:
        """Writes the replacement of the span."""
        pieces: list[tuple[Looks | None, str]] = [(self._usual, self._before)] if self._before else []
        looks = [self._usual]  # looks of the open marks; a container has its own usual look
        ranges = iter(self._ranges)
        usual = self._frames[self._usual]  # the look of words in a container without one
        for part in parts_of(translation):
            if isinstance(part, str):
                pieces.append((looks[-1], part.replace("\r\n", " ").replace("\n", " ")))
                continue
            item = self._sources[part.number]
            if part.closes:
                looks.pop()
                if isinstance(item, Container):
                    pieces.append((None, _as_it_stood(item.closing, source)))
            elif isinstance(item, Container):
                looks.append(_most(list(texts(item.items))))
                pieces.append((None, _as_it_stood(item.opening, source)))
            elif isinstance(item, Item):
                item = next(ranges, item) if item.kind == "range" else item
                pieces.append((None, _as_it_stood(item, source)))
            else:
                looks.append(item)
        if self._after:
            pieces.append((self._usual, self._after))
        found = "".join(_joined(pieces, lambda look, text: self._framed(self._frames.get(look, usual), text)))
        before = self._entered.all_closings if self._entered else ""
        return f"{before}{found}{self._left.all_openings if self._left else ''}"


def _looks(item: Item) -> Looks:
    return item.frame.all_looks if item.frame else ()


def _raised(found: Sequence[Item]) -> dict[Item, str]:
    """Classifies superscripts and subscripts that are parts of words, where a mark would cover the whole word.

    "x": a sign behind a word (in m2), which is placed with it; "word": in 1st and H2O, treated as without a look.
    """
    ends = [" ", *(item.text[-1:] for item in found)]
    begins = [*(item.text[:1] for item in found), " "]
    raised: dict[Item, str] = {}
    for number, item in enumerate(found):
        if item.frame is not None and item.frame.is_raised and ends[number] not in WHITE:
            is_sign = not has_letters(item.text) and not begins[number + 1].isalnum()
            raised[item] = "x" if is_sign else "word"
    return raised


def _most(found: Sequence[Item]) -> Looks:
    """Returns the look of most of the characters."""
    sizes: Counter[Looks] = Counter()
    for item in found:
        sizes[_looks(item)] += len(item.text.strip())
    return max(sizes, key=sizes.__getitem__, default=())


def _edges(found: Sequence[Item]) -> tuple[str, str]:
    """Returns the white space at both ends."""
    first, last = found[0].text, found[-1].text
    return first[: len(first) - len(first.lstrip(WHITE))], last[len(last.rstrip(WHITE)) :]


def _joined(pieces: list[tuple[Looks | None, str]], framed: Callable[[Looks, str], str]) -> list[str]:
    """Writes all pieces; joins neighbours of equal look."""
    found: list[str] = []
    waiting: list[str] = []
    look: Looks | None = None
    for other, text in [*pieces, (None, "")]:
        if waiting and other != look:
            assert look is not None
            found.append(framed(look, "".join(waiting)))
            waiting = []
        look = other
        if look is None:
            found.append(text)
        elif text:
            waiting.append(text)
    return found


def _as_it_stood(item: Item, source: Source) -> str:
    text = source(item.begin, item.end)
    before = item.frame.all_openings if item.frame else ""
    return f"{before}{text}{item.last.all_closings if item.last else ''}"


def _widened(items: Items) -> tuple[Span, Frame | None, Frame | None]:
    """Extends the span of items to the frames that they fill; returns it with the frames at its ends."""
    first, last = items[0], items[-1]
    first = first.opening if isinstance(first, Container) else first
    last = last.closing if isinstance(last, Container) else last
    begin, entered = first.begin, first.frame
    while entered is not None and begin == entered.content:
        begin, entered = entered.begin, entered.parent
    end, left = last.end, last.last
    while left is not None and end == left.content_end:
        end, left = left.end, left.parent
    return (begin, end), entered, left
