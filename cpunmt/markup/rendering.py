"""A translated block as markup again: its text, and between the texts spans of the source, which are copied.

Spans are tags, and all that has no text. A text is encoded as its syntax wants, see `Content`.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter

from cpunmt.alignment.aligned import Aligned, Span
from cpunmt.alignment.links import Links
from cpunmt.alignment.word_units import is_unspaced
from cpunmt.markup.blocks import Block, Element, Point
from cpunmt.markup.html_syntax import SPACE, encoded_parts
from cpunmt.markup.placement import Place, placed

_STAND_IN = re.compile(r"\{\d+\}")
_ENDS = frozenset(".,;:!?)]}%")  # marks that no word follows at once
_SPACES = re.compile(rf"[{SPACE}]*")


def rendered(block: Block, aligned: Aligned, html: str) -> list[str | Span] | None:
    """Returns the block's translation, as it stands between the source's parts before and behind the block.

    None: it lacks a stand-in, or has one twice.
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
        root, links = placed(block, aligned)
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

    def inside(self, place: Place) -> None:
        """Writes the inside of an element, without its own tags."""
        events: list[tuple[int, bool, int, Place | Point, bool]] = [
            (child.begin, True, child.element.order, child, False) for child in place.children
        ]
        events += [(at, behind, point.order, point, point.joined) for at, behind, point in place.points]
        has_units = place.begin < place.end
        events.sort(key=lambda event: (event[0], event[1] and has_units, event[2]))
        unit, has_gap = place.begin, True  # the gap before the first unit is the parent's
        last: Place | None = None  # child, after which nothing came
        for at, behind, _, what, joined in events:
            if unit < at:
                self._units(unit, at, has_gap)
                unit, has_gap, last = at, False, None
            if behind and not has_gap and at < place.end:
                self._gap(at, what, joined or (isinstance(what, Place) and last is not None and _joins(what, last)))
                has_gap = True
            if isinstance(what, Place):
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

    def _element(self, place: Place) -> None:
        element = place.element
        if self._is_lost_link(place):
            self._keep(element)
            return
        if element.opening is not None:
            self.parts.append(element.opening)
        self.inside(place)
        if element.closing is not None:
            self.parts.append(element.closing)

    def _is_lost_link(self, place: Place) -> bool:
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
        """Writes a link as the source has it."""
        assert element.opening is not None and element.closing is not None
        written = next((part for part in reversed(self.parts) if part), " ")
        last = written[-1] if isinstance(written, str) else self.html[written[1] - 1]
        if not last.isspace():
            was_apart = self.block.plain[element.begin - 1 : element.begin].isspace()
            self.parts.append(self._space_before(element.opening[0]) or " " * was_apart)
        self.parts.append((element.opening[0], element.closing[1]))

    def _units(self, begin: int, end: int, has_gap: bool) -> None:
        """Writes units, each after its gap; the first one's may be written already."""
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
        """Returns the spaces that are missing around the stand-in at `begin`, so that no word touches a held part."""
        source, target = self.block.plain, self.target
        at, end = self.held[name], begin + len(name)
        left, right = target[begin - 1 : begin] if begin else "", target[end : end + 1]
        was_left, was_right = source[at - 1 : at] if at else " ", source[at + len(name) : at + len(name) + 1] or " "
        before = _grows(left, was_left) or (left in _ENDS and was_left.isspace())
        after = _grows(right, was_right) or (right == "(" != was_right)
        return " " * before, " " * after

    def _gap(self, at: int, what: Place | Point, joined: bool) -> None:
        """Writes the white space before a unit and the tag before it, with line ends where the source has them."""
        gap = self.target[self.units[at - 1][1] : self.units[at][0]] if at else ""
        if not gap and at and not isinstance(what, Place) and not joined:  # the unit is a mark, which has none
            gap = self._space_before(what.span[0])
        if gap == " " and joined:
            return
        opening = what.element.opening if isinstance(what, Place) else what.span
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
        """Returns the white space between a point and the unit after it: the source's, or what keeps words apart."""
        found = _SPACES.match(self.html, point.span[1], self.block.end)
        space = found[0] if found else ""
        first, was = self.target[self.units[at][0]], self.block.plain[point.offset : point.offset + 1]
        return " " if not space and _grows(first, was) else space


def _grows(character: str, was: str) -> bool:
    """Returns whether a word stands where the source had none: it would touch its neighbour."""
    return character.isalnum() and was != "" and not was.isalnum() and not is_unspaced(character)


def _joins(place: Place, last: Place) -> bool:
    element: Element | None = place.element.joined
    return element is last.element
