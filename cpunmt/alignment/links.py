"""Links units of a translation to units of its source, by a layer's links between pieces."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from cpunmt.alignment.aligned import Aligned, Span
from cpunmt.text.scripts import UNSPACED

_MOST_SHARES = 16  # source units per piece that count; a piece with more is not a word


@dataclass(slots=True)
class Links:
    """The units of both sides, with their links.

    origins  for each target unit the main source unit, -1 without one
    reach    for each source unit its first and last target unit, (-1, -1) without one
    kept     target units that are copies of source units
    """

    sources: list[Span]
    targets: list[Span]
    origins: list[int]
    reach: list[Span]
    kept: frozenset[int]


def unit_links(aligned: Aligned, cuts: Sequence[int] = (), stand_ins: Collection[str] = ()) -> Links:
    """Links source and target units; by position where a layer returns no links.

    Parameters
    ----------
    cuts : offsets of tags in the source, ascending, at which units of kept parts end
    stand_ins : texts of units that are linked to units with the same text
    """
    kept = [pair for pair in aligned.kept if pair[0][1] - pair[0][0] == pair[1][1] - pair[1][0]]
    sources, targets, copies = _copied(aligned, kept, cuts) if kept else (*_units(aligned), {})
    origins = _voted(aligned, sources, targets, copies) if aligned.links else _by_place(len(sources), len(targets))
    if stand_ins:
        numbers = _places_of(stand_ins, aligned.source, sources)
        for name, number in _places_of(stand_ins, aligned.target, targets).items():
            if name in numbers:
                copies[number] = numbers[name]
    for number, origin in copies.items():
        origins[number] = origin
    copied = frozenset(copies.values())
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for number, origin in enumerate(origins):
        if number in copies or origin not in copied:
            first.setdefault(origin, number)
            last[origin] = number
    reach = [(first.get(source, -1), last.get(source, -1)) for source in range(len(sources))]
    return Links(sources, targets, origins, reach, frozenset(copies))


def _units(aligned: Aligned) -> tuple[list[Span], list[Span]]:
    return units_of(aligned.source, aligned.source_spans), units_of(aligned.target, aligned.target_spans)


def _places_of(names: Collection[str], text: str, units: Sequence[Span]) -> dict[str, int]:
    found = {text[begin:end]: number for number, (begin, end) in enumerate(units) if text[begin] == "{"}
    return {name: number for name, number in found.items() if name in names}


def _copied(
    aligned: Aligned, kept: Sequence[tuple[Span, Span]], cuts: Sequence[int]
) -> tuple[list[Span], list[Span], dict[int, int]]:
    """Returns the units of both sides where parts are kept, and the source unit of each copied target unit."""
    source, target = aligned.source, aligned.target
    sources, targets = _units(aligned)
    spans = sorted(span for span, _ in kept)
    edges = [edge for span in spans for edge in span]
    for begin, end in spans:
        edges += cuts[bisect_right(cuts, begin) : bisect_left(cuts, end)]
    sources = parted(source, sources, sorted(edges))
    targets = parted(target, targets, sorted([edge for _, span in kept for edge in span]))
    begins = [begin for begin, _ in sources]
    made: list[Span] = []
    copies: dict[int, int] = {}
    at = 0  # index of the target unit
    for (begin, end), (low, high) in sorted(kept, key=lambda pair: pair[1]):
        while at < len(targets) and targets[at][0] < low:
            made.append(targets[at])
            at += 1
        while at < len(targets) and targets[at][0] < high:
            at += 1
        for number in range(bisect_left(begins, begin), bisect_left(begins, end)):
            copies[len(made)] = number
            made.append((sources[number][0] - begin + low, sources[number][1] - begin + low))
    return sources, made + targets[at:], copies


def _voted(aligned: Aligned, sources: Sequence[Span], targets: Sequence[Span], copies: Collection[int]) -> list[int]:
    """Returns, for each target unit not in `copies`, the source unit that most of its pieces come from, else -1."""
    of_source = overlapping(sources, aligned.source_spans)
    of_target = overlapping(targets, aligned.target_spans)
    origins = [-1] * len(targets)
    votes: dict[int, dict[int, float]] = {}  # votes for the units that later pieces may still belong to
    least = 0  # first of those units
    for source, target in aligned.links:
        units = of_target[target]
        if not units:
            continue
        if units[0][0] > least:
            least = units[0][0]
            for unit in [unit for unit in votes if unit < least]:
                origins[unit] = _first_of_most(votes.pop(unit))
        shares = of_source[source][:_MOST_SHARES]
        total = sum([count for _, count in shares]) if len(shares) > 1 else 0
        for unit, weight in units:
            if unit in copies:
                continue
            known = votes.setdefault(unit, {})
            for origin, count in shares:
                known[origin] = known.get(origin, 0.0) + (weight * count / total if total else weight)
    for unit, known in votes.items():
        origins[unit] = _first_of_most(known)
    return origins


def _first_of_most(votes: dict[int, float]) -> int:
    if len(votes) < 2:
        return next(iter(votes), -1)
    return max(votes, key=lambda origin: (votes[origin], -origin))


def _by_place(sources: int, targets: int) -> list[int]:
    return [(2 * number + 1) * sources // (2 * targets) for number in range(targets)]


_MARKS = (
    r"!-/:-@\[-^`{-~\u00a1-\u00a9\u00ab\u00ac\u00ae-\u00b1\u00b4-\u00b8\u00bb\u00bf\u00d7\u00f7\u2010-\u2027\u2030-\u205e"
    r"\u060c\u061b\u061f\u06d4\u0964\u0965\u3001-\u3003\u3008-\u3011\u3014-\u301f\uff01-\uff0f\uff1a-\uff20\uff5b-\uff65"
)
_UNIT = re.compile(rf"\{{\d+\}}|[{UNSPACED}]+|[^\s{_MARKS}{UNSPACED}]+|\S")
_IS_UNSPACED = re.compile(rf"[{UNSPACED}]")


def is_unspaced(text: str) -> bool:
    """Returns whether a text begins in a script that has no spaces between words."""
    return _IS_UNSPACED.match(text) is not None


def units_of(text: str, pieces: Sequence[Span]) -> list[Span]:
    """Returns begin and end of each unit, ascending, with only white space between. `pieces`: the model's."""
    found: list[Span] = []
    number = 0
    for match in _UNIT.finditer(text):
        begin, end = match.span()
        if end - begin > 1 and _IS_UNSPACED.match(text, begin):
            while number < len(pieces) and pieces[number][0] < end:
                cut = pieces[number][0]
                number += 1
                if begin < cut:
                    found.append((begin, cut))
                    begin = cut
        found.append((begin, end))
    return found


def parted(text: str, units: Sequence[Span], edges: Sequence[int]) -> list[Span]:
    """Cuts the units of a text at `edges`, except stand-ins. `units` and `edges` ascend."""
    found: list[Span] = []
    at = 0
    for begin, end in units:
        is_stand_in = text[begin] == "{" and end - begin > 1
        while at < len(edges) and edges[at] < end:
            if begin < edges[at] and not is_stand_in:
                found.append((begin, edges[at]))
                begin = edges[at]
            at += 1
        found.append((begin, end))
    return found


def overlapping(units: Sequence[Span], pieces: Sequence[Span]) -> list[list[tuple[int, int]]]:
    """Returns, for each piece, (unit, shared characters) of every unit that it overlaps."""
    found: list[list[tuple[int, int]]] = []
    first, size = 0, len(units)
    for begin, end in pieces:
        while first < size and units[first][1] <= begin:
            first += 1
        of_piece = []
        number = first
        while number < size:
            low, high = units[number]
            if low >= end:
                break
            shared = (high if high < end else end) - (low if low > begin else begin)
            if shared > 0:
                of_piece.append((number, shared))
            number += 1
        found.append(of_piece)
    return found
