"""Writes a translated block as markup: its text, and between the texts copied spans of the source.

Spans are tags and all parts without text. Texts are encoded by their syntax, see `Content`.

Each inline element gets one range of units of the translation, within its parent's range and beside its siblings'
ranges. The range has the best F1 over the characters of units that come from the element's words, so a stray link does
not stretch it. Kept parts outweigh all words: they stay in their own element. If the words of an element have no
translation, it takes the unit of a neighbouring word, if that is free: an empty link could not be clicked. A part
without text stands before or behind the unit of its neighbour.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from cpunmt.alignment.aligned import Aligned, Span
from cpunmt.alignment.links import Links, is_unspaced, unit_links
from cpunmt.markup.blocks import Block, Element, Point
from cpunmt.markup.html_syntax import SPACE, encoded_parts

_STAND_IN = re.compile(r"\{\d+\}")
_ENDS = frozenset(".,;:!?)]}%")  # a word never follows these directly
_SPACES = re.compile(rf"[{SPACE}]*")
_NEAR = 2  # source units beside an element
_ROUNDS = 16  # limit of the search for the best range, which ends long before


def rendered(block: Block, aligned: Aligned, html: str) -> list[str | Span] | None:
    """Returns the block's translation as markup, without the parts of the source around the block.

    Returns None if a stand-in is missing or occurs twice.
    """
    if block.holds:
        counts = Counter(_STAND_IN.findall(aligned.target))
        if any(counts[name] != 1 for name in block.stand_ins()):
            return None
    syntax = block.content.syntax
    if syntax == "raw" and not block.has_tags:
        return [(block.begin, block.end) if "]]>" in aligned.target else aligned.target.strip()]
    if not block.has_tags and not block.holds:
        parts: list[str | Span] = [aligned.target.strip()]
    else:
        root, links = _placed(block, aligned)
        written = _Writer(block, aligned, links, html)
        written.inside(root)
        parts = written.parts
    return parts if syntax == "parts" else encoded_parts(parts, block.spellings)


class _Writer:
    def __init__(self, block: Block, aligned: Aligned, links: Links, html: str) -> None:
        self.block = block
        self.target = aligned.target
        self.units = links.targets
        self.html = html
        self.held = block.stand_ins()  # name -> its offset in the source
        self.held_at = list(block.holds)  # ascending
        self.parts: list[str | Span] = []

    def inside(self, place: _Place) -> None:
        """Writes the content of an element, without its own tags."""
        events: list[tuple[int, bool, int, _Place | Point, bool]] = [
            (child.begin, True, child.element.order, child, False) for child in place.children
        ]
        events += [(at, behind, point.order, point, point.joined) for at, behind, point in place.points]
        has_units = place.begin < place.end
        events.sort(key=lambda event: (event[0], event[1] and has_units, event[2]))
        unit, has_gap = place.begin, True  # the gap before the first unit is the parent's
        last: _Place | None = None  # last child, if nothing came after it
        for at, behind, _, what, joined in events:
            if unit < at:
                self._units(unit, at, has_gap)
                unit, has_gap, last = at, False, None
            if behind and not has_gap and at < place.end:
                self._gap(at, what, joined or (isinstance(what, _Place) and last is not None and _joins(what, last)))
                has_gap = True
            if isinstance(what, _Place):
                self._element(what)
                last = what
                if what.begin < what.end:
                    unit, has_gap = what.end, False
            else:
                if not behind:
                    self.parts.append(self._space_before(what.span[0]))
                self.parts.append(what.span)
                if behind and at < place.end:
                    self.parts.append(self._space_after(what, at))
                elif joined:
                    has_gap = True
                last = None
        self._units(unit, place.end, has_gap)

    def _element(self, place: _Place) -> None:
        element = place.element
        if self._is_lost_link(place):
            self._keep(element)
            return
        if element.opening is not None:
            self.parts.append(element.opening)
        self.inside(place)
        if element.closing is not None:
            self.parts.append(element.closing)

    def _is_lost_link(self, place: _Place) -> bool:
        """Returns whether the translation lacks all of a link's words, so that no reader could follow it."""
        element, block = place.element, self.block
        if (
            block.content.syntax != "html"
            or place.begin < place.end
            or element.opening is None
            or element.closing is None
        ):
            return False
        name = self.html[element.opening[0] + 1 : element.opening[0] + 3]
        if name[:1] not in "aA" or name[1:] not in f"{SPACE}>":
            return False
        first = bisect_left(self.held_at, element.begin)
        if first < len(self.held_at) and self.held_at[first] < element.end:
            return False
        return any(map(str.isalnum, block.plain[element.begin : element.end]))

    def _keep(self, element: Element) -> None:
        """Writes a link unchanged."""
        assert element.opening is not None and element.closing is not None
        written = next((part for part in reversed(self.parts) if part), " ")
        last = written[-1] if isinstance(written, str) else self.html[written[1] - 1]
        if not last.isspace():
            was_apart = self.block.plain[element.begin - 1 : element.begin].isspace()
            self.parts.append(self._space_before(element.opening[0]) or " " * was_apart)
        self.parts.append((element.opening[0], element.closing[1]))

    def _units(self, begin: int, end: int, has_gap: bool) -> None:
        """Writes units, each after its gap; the first gap may be written already."""
        if begin >= end:
            return
        first = self.units[begin][0] if has_gap or begin == 0 else self.units[begin - 1][1]
        text = self.target[first : self.units[end - 1][1]]
        if not self.held or "{" not in text:
            self.parts.append(text)
            return
        at = 0
        for found in _STAND_IN.finditer(text):
            if (name := found[0]) in self.held:
                before, after = self._spaces(name, first + found.start())
                self.parts += text[at : found.start()], before, self.block.holds[self.held[name]], after
                at = found.end()
        self.parts.append(text[at:])

    def _spaces(self, name: str, begin: int) -> tuple[str, str]:
        """Returns missing spaces around the stand-in at `begin`, so that no word touches a held part."""
        source, target = self.block.plain, self.target
        at, end = self.held[name], begin + len(name)
        left, right = target[begin - 1 : begin] if begin else "", target[end : end + 1]
        was_left, was_right = source[at - 1 : at] if at else " ", source[at + len(name) : at + len(name) + 1] or " "
        before = _grows(left, was_left) or (left in _ENDS and was_left.isspace())
        after = _grows(right, was_right) or (right == "(" != was_right)
        return " " * before, " " * after

    def _gap(self, at: int, what: _Place | Point, joined: bool) -> None:
        """Writes the white space before a unit and the tag before it, with line ends as in the source."""
        gap = self.target[self.units[at - 1][1] : self.units[at][0]] if at else ""
        if not gap and at and not isinstance(what, _Place) and not joined:  # a mark, without a space before it
            gap = self._space_before(what.span[0])
        if gap == " " and joined:
            return
        opening = what.element.opening if isinstance(what, _Place) else what.span
        if gap == " " and opening is not None:
            before = self._space_before(opening[0])
            gap = before if "\n" in before else gap
        self.parts.append(gap)

    def _space_before(self, at: int) -> str:
        html, begin = self.html, at
        while begin > self.block.begin and html[begin - 1] in SPACE:
            begin -= 1
        return html[begin:at]

    def _space_after(self, point: Point, at: int) -> str:
        """Returns the white space between a point and the unit after it: the source's, or a space between words."""
        found = _SPACES.match(self.html, point.span[1], self.block.end)
        space = found[0] if found else ""
        first, was = self.target[self.units[at][0]], self.block.plain[point.offset : point.offset + 1]
        return " " if not space and _grows(first, was) else space


def _grows(character: str, was: str) -> bool:
    """Returns whether a new word, absent in the source, would touch its neighbour."""
    return character.isalnum() and was != "" and not was.isalnum() and not is_unspaced(character)


def _joins(place: _Place, last: _Place) -> bool:
    element: Element | None = place.element.joined
    return element is last.element


@dataclass(slots=True, eq=False)
class _Place:
    """Units `begin` to `end` for an element; for each of its points, the next unit and whether the gap comes before."""

    element: Element
    begin: int
    end: int
    children: list[_Place] = field(default_factory=list)
    points: list[tuple[int, bool, Point]] = field(default_factory=list)


def _placed(block: Block, aligned: Aligned) -> tuple[_Place, Links]:
    """Returns the tree of places over the units of the translation, and these units."""
    links = unit_links(aligned, block.edges() if aligned.kept else (), block.stand_ins())
    found = _Placement(block, links)
    root = _Place(block.root, 0, len(links.targets))
    waiting = [root]
    while waiting:
        place = waiting.pop()
        found.fill(place)
        waiting += place.children
    return root, links


class _Placement:
    def __init__(self, block: Block, links: Links) -> None:
        self.links = links
        self.plain = block.plain
        self.weights = [end - begin for begin, end in links.targets]
        heavy = sum(self.weights) + 1
        for unit in links.kept:
            self.weights[unit] *= heavy
        self.begins = [begin for begin, _ in links.sources]
        self.ends = [end for _, end in links.sources]
        parents = _parents(block.root)
        owners = _owners(block, links, parents)
        self.units: dict[Element, list[int]] = defaultdict(list)  # units that come from an element or its descendants
        self.linked = [origin >= 0 for origin in links.origins]
        for number, origin in enumerate(links.origins):
            element: Element | None = owners[origin] if origin >= 0 else None
            while element is not None:
                self.units[element].append(number)
                element = parents.get(element)
        sums = [0]
        for weight, linked in zip(self.weights, self.linked, strict=True):
            sums.append(sums[-1] + (weight if linked else 0))
        self.sums = sums
        self.taken = bytearray(len(links.targets))
        self.behind, self.ahead = _nearest(links)

    def fill(self, place: _Place) -> None:
        """Places the children and points of an element that has its place."""
        element = place.element
        self.taken[place.begin : place.end] = bytes(place.end - place.begin)
        begin, end = place.begin, place.end
        open_ended = [child for child in element.children if child.opening is None or child.closing is None]
        for child in open_ended:  # its other end is outside the block: nothing lies between
            units = self._within(child, begin, end)
            low, high = self._best(child, units, begin, end) if units else (end, end)
            made = _Place(child, begin if child.opening is None else low, end if child.closing is None else high)
            if child.opening is None and not units:
                made.end = begin
            self._take(place, made)
            begin = made.end if child.opening is None else begin
            end = made.begin if child.closing is None else end
        rest = [child for child in element.children if child.opening is not None and child.closing is not None]
        whole = (element.begin, element.end)
        if len(rest) == 1 and (rest[0].begin, rest[0].end) == whole and not open_ended:
            self._take(place, _Place(rest[0], begin, end))
            rest = []
        waiting = []
        scored = [(self._within(child, begin, end), child) for child in rest]
        scored.sort(key=lambda found: (-sum(self.weights[unit] for unit in found[0]), found[1].order))
        for units, child in scored:
            free = [unit for unit in units if not self.taken[unit]]
            if free:
                self._take(place, _Place(child, *self._best(child, free, begin, end)))
            else:
                waiting.append(child)
        for child in sorted(waiting, key=lambda child: child.order):
            self._take(place, self._beside(child, begin, end))
        place.children.sort(key=lambda child: (child.begin, child.end, child.element.order))
        begins = [child.begin for child in place.children]
        for point in element.points:
            place.points.append(self._point(point, place, begins))

    def _take(self, parent: _Place, place: _Place) -> None:
        parent.children.append(place)
        self.taken[place.begin : place.end] = b"\1" * (place.end - place.begin)

    def _within(self, element: Element, begin: int, end: int) -> list[int]:
        units = self.units[element]
        return units[bisect_left(units, begin) : bisect_left(units, end)]

    def _best(self, element: Element, units: list[int], begin: int, end: int) -> Span:
        """Returns the range with the best F1 between the element's characters and the range's characters."""
        total = sum(self.weights[unit] for unit in units)
        if element.opening is None:
            runs = [(begin, unit + 1) for unit in units]
        elif element.closing is None:
            runs = [(unit, end) for unit in units]
        else:
            return self._best_inside(units, total)
        own = 0
        best, score = runs[0], -1.0
        weights = [self.weights[unit] for unit in units]
        for number, (low, high) in enumerate(runs):
            own += weights[number]
            hit = own if element.opening is None else total - own + weights[number]
            found = hit / (self.sums[high] - self.sums[low] + total)
            if found > score:
                best, score = (low, high), found
        return best

    def _best_inside(self, units: list[int], total: int) -> Span:
        """Returns the best range that begins and ends with one of `units` and has only free units.

        The best ratio a / b is the r for which a - r b <= 0 for all ranges; r grows until then.
        """
        gaps = [self.sums[unit] for unit in units]
        blocked = [False] + [self.taken.find(1, left, right) >= 0 for left, right in itertools.pairwise(units)]
        best, ratio = (0, 0), -1.0
        for _ in range(_ROUNDS):
            rate = max(ratio, 0.0)
            found, top = best, -1.0
            first, value = 0, 0.0
            for number, unit in enumerate(units):
                weight = self.weights[unit]
                if number:
                    before = units[number - 1]
                    value -= rate * (gaps[number] - gaps[number - 1] - self.weights[before])
                if number == 0 or blocked[number] or value < 0:
                    first, value = number, 0.0
                value += weight * (1 - rate)
                if value > top:
                    found, top = (first, number), value
            low, high = units[found[0]], units[found[1]] + 1
            own = sum(self.weights[unit] for unit in units[found[0] : found[1] + 1])
            reached = own / (self.sums[high] - self.sums[low] + total)
            if reached <= ratio:
                break
            best, ratio = found, reached
        return units[best[0]], units[best[1]] + 1

    def _beside(self, element: Element, begin: int, end: int) -> _Place:
        """Returns a place for an element whose words have no free translation."""
        first = bisect_left(self.ends, element.begin + 1)
        last = bisect_left(self.begins, element.end)
        nearby = [place for step in range(_NEAR) for place in (first - 1 - step, last + step)]
        inside = any(self.plain[at].isalnum() for at in range(element.begin, element.end))
        for source in nearby if inside else ():
            if 0 <= source < len(self.links.sources):
                for unit in self.links.reach[source]:
                    if begin <= unit < end and not self.taken[unit] and self._is_word(unit):
                        return _Place(element, unit, unit + 1)
        at = self._neighbour(element.begin, True)[0]
        at = self._free(min(max(at, begin), end), begin, end)
        return _Place(element, at, at)

    def _is_word(self, unit: int) -> bool:
        return self.weights[unit] > 1 and unit not in self.links.kept

    def _free(self, at: int, begin: int, end: int) -> int:
        """Returns the first place from `at` on that is outside all taken ranges."""
        if begin < at < end and self.taken[at] and self.taken[at - 1]:
            found = self.taken.find(0, at, end)
            return found if found >= 0 else end
        return at

    def _neighbour(self, offset: int, forward: bool) -> tuple[int, bool]:
        """Returns the place before the translation of the unit at `offset`, or behind that of the unit before it."""
        if forward:
            source = bisect_left(self.begins, offset)
            if source < len(self.ahead) and self.ahead[source] >= 0:
                return self.ahead[source], True
            return len(self.weights), False
        source = bisect_left(self.begins, offset) - 1
        if source >= 0 and self.behind[source] >= 0:
            return self.behind[source] + 1, False
        return 0, True

    def _point(self, point: Point, place: _Place, begins: list[int]) -> tuple[int, bool, Point]:
        before = point.offset > place.element.begin and not self.plain[point.offset - 1].isspace()
        at, behind_gap = self._neighbour(point.offset, not before)
        at = min(max(at, place.begin), place.end)
        number = bisect_left(begins, at) - 1
        if number >= 0 and place.children[number].end > at:  # not inside another element
            child = place.children[number]
            at = child.begin if behind_gap else child.end
        return at, behind_gap, point


def _parents(root: Element) -> dict[Element, Element]:
    """Maps each element to its parent, except children of the root."""
    found: dict[Element, Element] = {}
    waiting = list(root.children)
    while waiting:
        element = waiting.pop()
        for child in element.children:
            found[child] = element
        waiting += element.children
    return found


def _owners(block: Block, links: Links, parents: dict[Element, Element]) -> list[Element | None]:
    """Returns the innermost element of each source unit, None for the root. An element may cover a part of the unit."""
    spans: list[tuple[int, int, Element | None]] = []  # of the plain text, from left to right

    def walk(element: Element, owner: Element | None) -> None:
        at = element.begin
        for child in element.children:
            if at < child.begin:
                spans.append((at, child.begin, owner))
            walk(child, child)
            at = max(at, child.end)
        if at < element.end:
            spans.append((at, element.end, owner))

    walk(block.root, None)
    found: list[Element | None] = []
    first = 0
    for begin, end in links.sources:
        while first < len(spans) and spans[first][1] <= begin:
            first += 1
        if first < len(spans) and spans[first][0] <= begin and end <= spans[first][1]:
            found.append(spans[first][2])
            continue
        shares: Counter[Element | None] = Counter()
        number = first
        while number < len(spans) and spans[number][0] < end:
            shares[spans[number][2]] += min(end, spans[number][1]) - max(begin, spans[number][0])
            number += 1
        above: set[Element | None] = {None}
        if len(shares) > 1:
            for element in shares:
                while element is not None and (element := parents.get(element)) is not None:
                    above.add(element)
        leaves = [element for element in shares if element not in above] or [None]
        found.append(max(leaves, key=lambda element: shares[element]))
    return found


def _nearest(links: Links) -> tuple[list[int], list[int]]:
    """Returns for each source unit the last target unit up to it, and the first one from it on."""
    behind, ahead = [], []
    known = -1
    for _, last in links.reach:
        known = last if last >= 0 else known
        behind.append(known)
    known = -1
    for first, _ in reversed(links.reach):
        known = first if first >= 0 else known
        ahead.append(known)
    return behind, ahead[::-1]
