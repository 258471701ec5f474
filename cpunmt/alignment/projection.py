"""Finds the part of a translation that comes from a part of its source."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

from cpunmt.alignment.aligned import Aligned, Span

_NEAR = 24  # pieces on either side of a gap whose links count
_MOST = 256  # links examined per gap


class Projection:
    """The links of one `Aligned`, prepared for many queries about its source."""

    def __init__(self, aligned: Aligned) -> None:
        self._sources, self._targets = aligned.source_spans, aligned.target_spans
        self._ends = list(accumulate((end for _, end in self._sources), max))  # ascending, despite empty pieces
        self._linked: dict[int, list[int]] = {}
        for source, target in aligned.links:
            self._linked.setdefault(source, []).append(target)

    def source_pieces(self, begin: int, end: int) -> list[int]:
        """Returns the source pieces with characters in a part of the source."""
        found, number = [], bisect_left(self._ends, begin + 1)
        while number < len(self._sources) and self._sources[number][0] < end > begin:
            if self._sources[number][1] > begin:
                found.append(number)
            number += 1
        return found

    def target_spans(self, begin: int, end: int) -> list[Span]:
        """Returns the spans of the target pieces linked to a part of the source."""
        pieces = self.source_pieces(begin, end)
        return [self._targets[target] for piece in pieces for target in self._linked.get(piece, ())]

    def target_range(self, begin: int, end: int) -> Span | None:
        """Returns the smallest target range that contains those spans; None without any."""
        found = [span for span in self.target_spans(begin, end) if span[0] < span[1]]
        return (min(b for b, _ in found), max(e for _, e in found)) if found else None


def least_crossed(links: Sequence[tuple[int, int]], piece: int) -> int | None:
    """Returns the target piece before which the fewest links cross a gap before source piece `piece`.

    Near links count most. `links` ascend by source. Returns None without near links.
    """
    low = bisect_left(links, (piece - _NEAR, 0))
    near = links[low : bisect_left(links, (piece + _NEAR, 0), low)][:_MOST]
    if not near:
        return None
    weights = sorted((t, s >= piece, 1 / (1 + (s - piece if s >= piece else piece - 1 - s))) for s, t in near)
    # in front of the first target piece, all links from before the gap cross it
    crossing = sum(weight for _, is_behind, weight in weights if not is_behind)
    best, place = crossing, weights[0][0]
    for position, (t, is_behind, weight) in enumerate(weights):
        crossing += weight if is_behind else -weight
        if position + 1 < len(weights) and weights[position + 1][0] == t:
            continue
        if crossing < best - 1e-9:
            best, place = crossing, t + 1
    return place
