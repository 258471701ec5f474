"""Where the inline elements of a block stand in its translation.

Each element gets one range of units of the translation, within its parent's and beside its siblings': the one that
fits best to the units that come from its words, by F1 over characters, so that a stray link does not stretch it. What
was kept outweighs all words: it stands in its own element, and in no other. An element none of whose words has a
translation takes the unit of the word beside it, if that is free: a link with no text can not be clicked. What has no
text stands before or behind the unit of its neighbour.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from cpunmt.alignment.aligned import Aligned, Span
from cpunmt.alignment.links import Links, unit_links
from cpunmt.markup.blocks import Block, Element, Point

_NEAR = 2  # source units beside an element
_ROUNDS = 16  # of the search for the best range: it ends long before


@dataclass(slots=True, eq=False)
class Place:
    """Units `begin` to `end` for an element; for its points: the unit before which it stands, whether behind a gap."""

    element: Element
    begin: int
    end: int
    children: list[Place] = field(default_factory=list)
    points: list[tuple[int, bool, Point]] = field(default_factory=list)


def placed(block: Block, aligned: Aligned) -> tuple[Place, Links]:
    """Returns the tree of places over the units of the translation, and these."""
    links = unit_links(aligned, block.edges() if aligned.kept else (), block.stand_ins())
    found = _Placement(block, links)
    root = Place(block.root, 0, len(links.targets))
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
        self.units: dict[Element, list[int]] = defaultdict(list)  # that come from an element or those in it
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

    def fill(self, place: Place) -> None:
        """Places for the children and points of an element that has its own."""
        element = place.element
        self.taken[place.begin : place.end] = bytes(place.end - place.begin)
        begin, end = place.begin, place.end
        open_ended = [child for child in element.children if child.opening is None or child.closing is None]
        for child in open_ended:  # its other end is beyond the block's: nothing stands between
            units = self._within(child, begin, end)
            low, high = self._best(child, units, begin, end) if units else (end, end)
            made = Place(child, begin if child.opening is None else low, end if child.closing is None else high)
            if child.opening is None and not units:
                made.end = begin
            self._take(place, made)
            begin = made.end if child.opening is None else begin
            end = made.begin if child.closing is None else end
        rest = [child for child in element.children if child.opening is not None and child.closing is not None]
        whole = (element.begin, element.end)
        if len(rest) == 1 and (rest[0].begin, rest[0].end) == whole and not open_ended:
            self._take(place, Place(rest[0], begin, end))
            rest = []
        waiting = []
        scored = [(self._within(child, begin, end), child) for child in rest]
        scored.sort(key=lambda found: (-sum(self.weights[unit] for unit in found[0]), found[1].order))
        for units, child in scored:
            free = [unit for unit in units if not self.taken[unit]]
            if free:
                self._take(place, Place(child, *self._best(child, free, begin, end)))
            else:
                waiting.append(child)
        for child in sorted(waiting, key=lambda child: child.order):
            self._take(place, self._beside(child, begin, end))
        place.children.sort(key=lambda child: (child.begin, child.end, child.element.order))
        begins = [child.begin for child in place.children]
        for point in element.points:
            place.points.append(self._point(point, place, begins))

    def _take(self, parent: Place, place: Place) -> None:
        parent.children.append(place)
        self.taken[place.begin : place.end] = b"\1" * (place.end - place.begin)

    def _within(self, element: Element, begin: int, end: int) -> list[int]:
        units = self.units[element]
        return units[bisect_left(units, begin) : bisect_left(units, end)]

    def _best(self, element: Element, units: list[int], begin: int, end: int) -> Span:
        """Returns the range with the best F1: of characters that come from the element, and of those in the range."""
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
        """Returns the best range that begins and ends with one of `units` and has no unit that is taken.

        The best ratio a / b is the r for which no range has a - r b > 0; r grows until then.
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

    def _beside(self, element: Element, begin: int, end: int) -> Place:
        """Returns a place for an element none of whose words has a translation that is free."""
        first = bisect_left(self.ends, element.begin + 1)
        last = bisect_left(self.begins, element.end)
        nearby = [place for step in range(_NEAR) for place in (first - 1 - step, last + step)]
        inside = any(self.plain[at].isalnum() for at in range(element.begin, element.end))
        for source in nearby if inside else ():
            if 0 <= source < len(self.links.sources):
                for unit in self.links.reach[source]:
                    if begin <= unit < end and not self.taken[unit] and self._is_word(unit):
                        return Place(element, unit, unit + 1)
        at = self._neighbour(element.begin, True)[0]
        at = self._free(min(max(at, begin), end), begin, end)
        return Place(element, at, at)

    def _is_word(self, unit: int) -> bool:
        return self.weights[unit] > 1 and unit not in self.links.kept

    def _free(self, at: int, begin: int, end: int) -> int:
        """Returns the first place from `at` on that is not inside what is taken."""
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

    def _point(self, point: Point, place: Place, begins: list[int]) -> tuple[int, bool, Point]:
        before = point.offset > place.element.begin and not self.plain[point.offset - 1].isspace()
        at, behind_gap = self._neighbour(point.offset, not before)
        at = min(max(at, place.begin), place.end)
        number = bisect_left(begins, at) - 1
        if number >= 0 and place.children[number].end > at:  # not inside another element
            child = place.children[number]
            at = child.begin if behind_gap else child.end
        return at, behind_gap, point


def _parents(root: Element) -> dict[Element, Element]:
    """Returns each element's parent, but for those in the root."""
    found: dict[Element, Element] = {}
    waiting = list(root.children)
    while waiting:
        element = waiting.pop()
        for child in element.children:
            found[child] = element
        waiting += element.children
    return found


def _owners(block: Block, links: Links, parents: dict[Element, Element]) -> list[Element | None]:
    """Returns the innermost element of each source unit; None: the root. Of a unit that is partly in one, that one."""
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
