"""Which units of a translation come from which of its source, out of a layer's links between pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cpunmt.translation.markup.units import overlapping, units_of
from cpunmt.translation.texts.aligned import Aligned, Span


@dataclass(slots=True)
class Links:
    """Units of both sides.

    origins  for each target unit the source unit that it comes from, most of all; -1: from none
    reach    for each source unit the first and the last target unit that come from it; (-1, -1): none does
    """

    sources: list[Span]
    targets: list[Span]
    origins: list[int]
    reach: list[Span]


def unit_links(aligned: Aligned, has_stand_ins: bool = False) -> Links:
    """The links of units. Where a layer gives none at all, units are linked by their place; stand-ins by their text."""
    sources = units_of(aligned.source, aligned.source_spans)
    targets = units_of(aligned.target, aligned.target_spans)
    origins = _voted(aligned, sources, targets) if aligned.links else _by_place(len(sources), len(targets))
    if has_stand_ins:
        numbers = {
            aligned.source[begin:end]: number
            for number, (begin, end) in enumerate(sources)
            if aligned.source[begin] == "{"
        }
        for number, (begin, end) in enumerate(targets):
            if aligned.target[begin] == "{" and end - begin > 1:
                origins[number] = numbers.get(aligned.target[begin:end], origins[number])
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for number, origin in enumerate(origins):
        first.setdefault(origin, number)
        last[origin] = number
    reach = [(first.get(source, -1), last.get(source, -1)) for source in range(len(sources))]
    return Links(sources, targets, origins, reach)


def _voted(aligned: Aligned, sources: Sequence[Span], targets: Sequence[Span]) -> list[int]:
    of_source = overlapping(sources, aligned.source_spans)
    of_target = overlapping(targets, aligned.target_spans)
    origins = [-1] * len(targets)
    votes: dict[int, dict[int, float]] = {}  # of the units that pieces from here on may still be part of
    least = 0  # of those units
    for source, target in aligned.links:
        units = of_target[target]
        if not units:
            continue
        if units[0][0] > least:
            least = units[0][0]
            for unit in [unit for unit in votes if unit < least]:
                origins[unit] = _first_of_most(votes.pop(unit))
        shares = of_source[source]
        total = sum([count for _, count in shares]) if len(shares) > 1 else 0
        for unit, weight in units:
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
