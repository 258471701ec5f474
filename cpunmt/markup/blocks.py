"""Turns a block of HTML into plain text, with the tree of its inline elements."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from cpunmt.markup.document import END, HAS_LETTER, HOLD, POINT, START, TEXT, Content, Item
from cpunmt.markup.html_syntax import SPACE, Spellings, decoded

_RUN = re.compile(rf"[{SPACE}]{{2,}}|[{SPACE[1:]}]")  # one space stays as it is
_EDGE = re.compile(r"\s*(?:&(?:nbsp|#160|#[xX][aA]0);\s*){0,50}")
_SPACES = re.compile(r"\s*")
_LAST_EDGE = re.compile(r"\s*(?:;(?:psbn|061#|0[aA][xX]#)&\s*){0,50}")
_NUMBERED = re.compile(r"\{\d+\}")
_BEGINS_WORD = re.compile(r"[@#]?\w|\{")  # a text that a space can separate from the word before it
_ADDRESS = re.compile(r"(?:[a-zA-Z][\w+.-]{1,15}://|www\.)\S*")
_MOST_PARTS = 16  # parts of an address
MARK = "sup"  # the name of a point made from an element
_MOST_ITEMS = 8  # items of an element that may be an address
_LOOKED_AT = 40  # characters of a word that are examined

_NOTE = re.compile(r"\s*\[[\d\s,*\u2013-]+\]\s*")
_SYMBOLS = re.compile(r"[^\w.,;:!?\u2026'\"()\u2018-\u201f\u3001\u3002\uff01\uff1f\u2013\u2014-]+")
_WITHIN = re.compile(r"[@#$%&=+~/\\{}`]")  # signs that belong to the word around or behind them
_TAIL = re.compile(r"[\w.]*\w\Z")
_HEAD = re.compile(rf"\w{{1,{_LOOKED_AT}}}")
_VISIBLE = frozenset(["img", "embed", MARK])  # these separate words


@dataclass(slots=True, eq=False)
class Element:
    """An inline element over `begin` to `end` of the plain text, without white space at its ends.

    opening, closing  spans of its tags in the HTML; None: it begins before or ends after the block, as the root does
    order             position among its siblings and their points, as in the source
    joined            the element directly before it in the HTML, although the plain text has a space there
    """

    opening: tuple[int, int] | None
    closing: tuple[int, int] | None
    begin: int
    end: int
    order: int
    children: list[Element] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)
    joined: Element | None = None


@dataclass(slots=True, eq=False)
class Point:
    """A part without text, at `offset` of the plain text: a void element, an empty one, a comment.

    span    in the HTML
    joined  the plain text has a space there that the HTML lacks
    """

    span: tuple[int, int]
    offset: int
    order: int
    joined: bool = False


@dataclass(slots=True, eq=False)
class Block:
    """A part of the HTML that is translated as one text.

    begin, end   its span in the HTML
    plain        its text: references decoded, white space as browsers show it, stand-ins for held parts
    root         the root of its elements
    holds        offset of a stand-in in `plain` -> the span of the HTML that it stands for
    spellings    characters that the source writes as references
    """

    begin: int
    end: int
    plain: str
    root: Element
    holds: dict[int, tuple[int, int]]
    spellings: Spellings
    content: Content
    has_tags: bool

    def stand_ins(self) -> dict[str, int]:
        """Returns a mapping from each stand-in for a held part to its offset in `plain`."""
        return {self.plain[at : self.plain.index("}", at) + 1]: at for at in self.holds}

    def edges(self) -> list[int]:
        """Returns the offsets of tags in `plain`, ascending."""
        found: set[int] = set()
        waiting = [self.root]
        while waiting:
            element = waiting.pop()
            found.update((element.begin, element.end), [point.offset for point in element.points])
            waiting += element.children
        return sorted(found)


def blocks_of(html: str, contents: Iterable[Content]) -> list[list[Block]]:
    """Returns the blocks of each content: more than one where tags do not nest, and none without letters."""
    return [_blocks(html, content) for content in contents]


def _blocks(html: str, content: Content) -> list[Block]:
    found: list[Block] = []
    waiting = [content.items]
    while waiting:
        items = waiting.pop()
        partners, cuts = _paired(items)
        if cuts:
            places = [-1, *sorted(cuts), len(items)]
            parts = [items[a + 1 : b] for a, b in itertools.pairwise(places)]
            waiting += [part for part in reversed(parts) if part]
            continue
        kept = _without_markers(html, items, partners) if partners and content.syntax == "html" else items
        if len(kept) != len(items):
            items = kept
            partners, _ = _paired(items)
        first, last = _core(html, items, partners, content.syntax)
        if first <= last:
            block = make_block(html, replace(content, items=items[first : last + 1]))
            if block is not None:
                found.append(block)
    return found


def _paired(items: list[Item]) -> tuple[dict[int, int], set[int]]:
    """Returns the pairs of tags, both ways, and the tags that do not nest."""
    opened: list[int] = []
    partners: dict[int, int] = {}
    cuts: set[int] = set()
    for place, (kind, _, _, name) in enumerate(items):
        if kind == START:
            opened.append(place)
        elif kind == END and opened:
            if items[opened[-1]][3] == name:
                other = opened.pop()
                partners[place], partners[other] = other, place
                continue
            same = [depth for depth, other in enumerate(opened) if items[other][3] == name]
            depth = same[-1] if same else 0
            cuts.update(opened[depth:])
            cuts.add(place)
            del opened[depth:]
    return partners, cuts


def _core(html: str, items: list[Item], partners: dict[int, int], syntax: str) -> tuple[int, int]:
    """Returns the first and last item to translate; excludes elements around all of the text, and parts beside it."""
    numbers = range(len(items))
    first = next((number for number in numbers if _is_solid(html, items[number], syntax)), None)
    if first is None:
        return 0, -1
    last = next(number for number in reversed(numbers) if _is_solid(html, items[number], syntax))
    if not partners:
        return first, last
    solid = first, last
    for place in range(first):
        if items[place][0] == START and first < partners.get(place, 0) < last:
            first = place
            break
    for place in range(len(items) - 1, last, -1):
        if items[place][0] == END and solid[0] < partners.get(place, -1) < solid[1]:
            last = place
            break
    return first, last


def _is_solid(html: str, item: Item, syntax: str) -> bool:
    kind, begin, end, _ = item
    return kind == HOLD or (kind == TEXT and _blank_end(html, begin, end, syntax) < end)


def _blank_end(html: str, begin: int, end: int, syntax: str) -> int:
    """Returns the end of the white space at `begin`; it includes `&nbsp;` unless references are text."""
    found = (_SPACES if syntax == "parts" else _EDGE).match(html, begin, end)
    return found.end() if found else begin


def make_block(html: str, content: Content, hold: bool = True) -> Block | None:
    """Returns the block of items that begin and end with text, a held part or a tag; None without letters.

    `hold`: whether held parts get stand-ins in the text. Otherwise they are points.
    """
    made = _Builder(html, content, hold)
    made.add_all()
    return made.block()


class _Builder:
    def __init__(self, html: str, content: Content, hold: bool) -> None:
        self.html = html
        self.content = content
        items = content.items
        self.begin, self.end = items[0][1], items[-1][2]
        if items[0][0] == TEXT:
            self.begin = _blank_end(html, self.begin, items[0][2], content.syntax)
        if items[-1][0] == TEXT:
            edge = _SPACES if content.syntax == "parts" else _LAST_EDGE
            found = edge.match(html[max(self.begin, items[-1][1]) : self.end][::-1])
            self.end -= found.end() if found else 0
        self.hold = hold
        self.names: Iterator[str] | None = None  # stand-ins that are still free
        self.root = Element(None, None, 0, 0, 0)
        self.opened = [self.root]
        self.text: list[str] = []
        self.length = 0
        self.link: int | None = None  # number of parts in `text` before the open link
        self.last = ""  # last character of the text
        self.letters = False
        self.spellings: Spellings = {}
        self.holds: dict[int, tuple[int, int]] = {}
        self.closed: Element | None = None  # set if the last item was this element's end
        self.separated: Element | Point | None = None  # what parts the words before and after it

    def add_all(self) -> None:
        for number, (kind, begin, end, name) in enumerate(self.content.items):
            if kind == TEXT:
                self._text(begin, end)
            elif kind == START:
                element = Element((begin, end), None, self.length, -1, number)
                if self.closed is not None:
                    element.joined = self.closed
                    self.separated, self.closed = element, None
                self.opened[-1].children.append(element)
                self.opened.append(element)
                if name == "a":
                    self.link = len(self.text)
            elif kind == END:
                self._end(begin, end)
                if name == "a":
                    self.link = None
            elif kind == HOLD and self.hold:
                self._hold(begin, end)
            else:
                point = Point((begin, end), self.length, number)
                self.opened[-1].points.append(point)
                if name in _VISIBLE:
                    self.separated = point

    def _hold(self, begin: int, end: int) -> None:
        if self.names is None:
            self.names = _stand_ins(self.html[self.begin : self.end])
        stand_in = next(self.names)
        if self.separated is not None:
            self._separate(stand_in)
        self.holds[self.length] = (begin, end)
        self._put(stand_in)
        self.closed = None

    def _end(self, begin: int, end: int) -> None:
        if len(self.opened) > 1:
            element = self.opened.pop()
            element.closing = (begin, end)
        else:  # the element began before the block: it contains everything so far
            element = Element(None, (begin, end), 0, 0, -1, self.root.children, self.root.points)
            self.root.children, self.root.points = [element], []
        element.end = self.length
        self.closed = element

    def _text(self, begin: int, end: int) -> None:
        text = self.html[max(begin, self.begin) : min(end, self.end)]
        if "&" in text and self.content.syntax in ("html", "xml"):
            text = decoded(text, self.spellings)
        if not self.content.preformatted:
            if "  " in text or not text.isprintable():  # otherwise each space is single, and is " "
                text = _RUN.sub(_shown, text)
            if text[:1] == " " and (not self.last or self.last.isspace()):
                text = text[1:]
        if text:
            self.letters = self.letters or HAS_LETTER.search(text) is not None
            if self.separated is not None:
                self._separate(text)
            self._put(text)
        self.closed = None

    def _separate(self, text: str) -> None:
        """Puts a space before `text` if a part without text separates it from the word before."""
        if self.last.isalnum() and _BEGINS_WORD.match(text) and not self._in_address():
            self._put(" ")
            if isinstance(self.separated, Point):
                self.separated.joined = True
        elif isinstance(self.separated, Element):
            self.separated.joined = None
        self.separated = None

    def _in_address(self) -> bool:
        """Returns whether the open link's text so far is an address, whose parts are one word."""
        if self.link is None or len(self.text) - self.link > _MOST_PARTS:
            return False
        return _ADDRESS.fullmatch("".join(self.text[self.link :])) is not None

    def _put(self, text: str) -> None:
        self.text.append(text)
        self.length += len(text)
        self.last = text[-1]

    def block(self) -> Block | None:
        if not self.letters:
            return None
        plain = "".join(self.text)
        if not self.content.preformatted:
            plain = plain.rstrip(SPACE)
        for element in self.opened[1:]:
            element.end = len(plain)
        self.root.end = len(plain)
        has_tags = bool(self.root.children or self.root.points)
        if has_tags:
            _settle(self.root, plain, self.html)
        return Block(self.begin, self.end, plain, self.root, self.holds, self.spellings, self.content, has_tags)


def _shown(run: re.Match[str]) -> str:
    """Returns white space as browsers show it; blank lines, which separate paragraphs, stay."""
    return run[0] if run[0].count("\n") > 1 else " "


def _stand_ins(html: str) -> Iterator[str]:
    """Yields `{1}`, `{2}` and so on, except stand-ins that occur in the text."""
    taken = set(_NUMBERED.findall(html)) if "{" in html else set()
    number = 0
    while True:
        number += 1
        if f"{{{number}}}" not in taken:
            yield f"{{{number}}}"


def _settle(element: Element, plain: str, html: str) -> None:
    """Trims the spans of elements, and turns elements without text into points."""
    kept = []
    for child in element.children:
        if child.end > len(plain):
            child.end = len(plain)
        while child.begin < child.end and plain[child.begin].isspace():
            child.begin += 1
        while child.begin < child.end and plain[child.end - 1].isspace():
            child.end -= 1
        if child.begin < child.end or child.opening is None or child.closing is None:
            kept.append(child)
            if child.children or child.points:
                _settle(child, plain, html)
        else:
            inner = html[child.opening[1] : child.closing[0]]
            span = child.opening[0], child.closing[1]
            has_space = inner[:1].isspace() or inner[-1:].isspace()
            element.points.append(Point(span, child.begin, child.order, has_space))
    element.children = kept
    for point in element.points:
        point.offset = min(point.offset, len(plain))
    element.points.sort(key=lambda point: point.order)


def _without_markers(html: str, items: list[Item], partners: dict[int, int]) -> list[Item]:
    """Returns the items, in which each element that is not a word is a single untranslated item.

    Such elements are footnote marks, pilcrows and the digits of formulas; no model sees them. A footnote's mark is a
    point behind its word. Within a word, as in H<sub>2</sub>O, the element is held together with the word.
    """
    made: list[Item] = []
    rest = list(items)
    place = 0
    while place < len(rest):
        item = rest[place]
        last = partners.get(place, -1) if item[0] == START else -1
        if not place < last <= place + _MOST_ITEMS or not _is_marker(html, rest, place, last):
            if item[0] != TEXT or item[1] < item[2]:
                made.append(item)
            place += 1
            continue
        begin, end = item[1], rest[last][2]
        tail = _tail(html, made, begin)
        after = rest[last + 1] if last + 1 < len(rest) else item
        head = _head(html, after)
        if tail < begin and (item[3] == "sub" or (head and item[3] == "sup")):
            if head:
                end = head.end()
                rest[last + 1] = (TEXT, end, after[2], "")
            _cut(made, tail)
            made.append((HOLD, tail, end, ""))
        else:
            made.append((POINT, begin, end, MARK))
        place = last + 1
    return made


def _is_marker(html: str, all_items: list[Item], first: int, last: int) -> bool:
    items = all_items[first : last + 1]
    names = {name for kind, _, _, name in items if kind == START}
    if any(kind == HOLD for kind, _, _, _ in items):
        return False
    text = decoded("".join([html[begin:end] for kind, begin, end, _ in items if kind == TEXT]), {})
    if not text.strip() or HAS_LETTER.search(text):
        return False
    if "sup" in names or "sub" in names:
        return True
    if _SYMBOLS.fullmatch(text):
        after = [item for item in all_items[last + 1 : last + _MOST_ITEMS] if item[0] not in (START, END)][:1]
        return not (_WITHIN.search(text) and after and _head(html, after[0]))
    return "a" in names and _NOTE.fullmatch(text) is not None


def _head(html: str, item: Item) -> re.Match[str] | None:
    """Matches the word at the beginning of an item."""
    return _HEAD.match(html, item[1], item[2]) if item[0] == TEXT else None


def _tail(html: str, made: list[Item], end: int) -> int:
    """Finds the begin of the word that ends at `end`, including held parts before it; `end` without a word."""
    begin = end
    for kind, first, last, _ in reversed(made[-2:]):
        if last != begin or kind not in (TEXT, HOLD):
            break
        if kind == HOLD:
            return first
        low = max(first, last - _LOOKED_AT)
        found = _TAIL.search(html[low:last])
        if found is None:
            break
        begin = low + found.start()
        if first < begin:
            break
    return begin


def _cut(made: list[Item], begin: int) -> None:
    """Removes everything from offset `begin` on from the items."""
    while made and made[-1][1] >= begin:
        made.pop()
    if made and made[-1][2] > begin:
        kind, first, _, name = made[-1]
        made[-1] = kind, first, begin, name
