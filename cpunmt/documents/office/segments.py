"""A paragraph as all office formats have it, cut into segments, each of which is a unit.

A paragraph is taken apart into items: texts in frames that say how they look, and what stands between them. Office
programs cut texts into many frames that look alike (Word notes in which session a letter was typed), so a frame is a
mark only where it looks other than most of the segment does: "big wor" + "ld" is one text.

The translation of a segment is made anew, in its own order: for each text a frame like that of its mark,
and between them, as they stood in the source, parts that are not text. Frames that the segment does not fill are closed
before it and opened again behind it.
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
_ENDS = (".", "!", "?")  # of sentences
_SPACES = re.compile(f"[{WHITE}]+")
_NO_LOOK = re.compile(r" ?[.,;:!?]? ?")  # of texts of which nobody sees whether they are bold
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
        """The looks of all frames that have one."""
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
    """An element around items that does not change their look: a link, an insertion."""

    opening: Item
    items: list[Item | Container]
    closing: Item
    kind: Literal["container"] = "container"


Items = list[Item | Container]
Framed = Callable[[Frame | None, str], str]  # a text, in another frame like this one
Source = Callable[[int, int], str]  # begin and end -> what stands there, with the translations of what is in it


def texts(items: Items) -> Iterator[Item]:
    """Yields all texts in these items."""
    for item in items:
        if isinstance(item, Container):
            yield from texts(item.items)
        elif item.kind == "text":
            yield item


def segments(items: Items) -> Iterator[Items]:
    """Yields the segments from one split to the next, without parts before the first and behind the last word.

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
    """A unit, the span that its translation is put in place of, and how it is written.

    Parameters
    ----------
    items  as `segments` gives them
    framed  how a text is written in this format
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
        """Writes what is put in place of the span."""
        pieces: list[tuple[Looks | None, str]] = [(self._usual, self._before)] if self._before else []
        looks = [self._usual]  # of the marks that are open; a container has a usual one of its own
        ranges = iter(self._ranges)
        usual = self._frames[self._usual]  # also of words in a container that had none
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
    """Superscripts and subscripts that are parts of words, where a mark would be of the whole word.

    "x": a sign behind a word (in m2), which is placed with it; "word": in 1st and H2O, and so of no look at all.
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
    """Writes all pieces; neighbours that look alike are one."""
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
    """Returns the span of items with those frames that they fill, and in which frames it begins and ends."""
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
