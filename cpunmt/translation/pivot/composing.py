"""Two alignments that meet in a middle text, as one."""

from __future__ import annotations

from collections.abc import Sequence

from cpunmt.translation.texts.aligned import Aligned, Layer, Span


def composed(first: Aligned, second: Aligned) -> Aligned:
    """From the source of `first` to the target of `second`, whose source is the target of `first`.

    A target piece comes from what that middle piece of `first` comes from which shares most characters with the
    middle piece of `second` that it comes from, of equals the first. What has none has no link.
    """
    over = _overlaps(second.source_spans, first.target_spans)
    sources: dict[int, list[int]] = {}
    for source, middle in first.links:
        sources.setdefault(middle, []).append(source)
    links: dict[tuple[int, int], None] = {}  # in order, none twice
    for middle, target in second.links:
        linked = [piece for piece in over[middle] if piece in sources]
        for source in sources[linked[0]] if linked else ():
            links[source, target] = None
    return Aligned(
        first.source, second.target, first.source_spans, second.target_spans, sorted(links, key=lambda link: link[1])
    )


def _overlaps(spans: Sequence[Span], others: Sequence[Span]) -> list[list[int]]:
    """Of each span the numbers of the others that share characters with it, most shared first; both ascend."""
    found, start = [], 0
    for begin, end in spans:
        while start < len(others) and others[start][1] <= begin:
            start += 1
        shared = []
        number = start
        while number < len(others) and others[number][0] < end:
            size = min(end, others[number][1]) - max(begin, others[number][0])
            if size > 0:
                shared.append((-size, number))
            number += 1
        found.append([number for _, number in sorted(shared)])
    return found


def pivot_layer(layers: Sequence[Layer]) -> Layer:
    """A layer that translates through several, each of which translates what the one before it says.

    A text that no layer has anything to say of, such as a blank one, ends there: blank texts stay blank.
    """

    def layer(texts: Sequence[str], align: bool) -> list[Aligned]:
        results = layers[0](texts, align)
        for below in layers[1:]:
            following = below([result.target for result in results], align)
            if align:
                results = [composed(*pair) for pair in zip(results, following, strict=True)]
            else:
                results = [
                    Aligned(result.source, after.target) for result, after in zip(results, following, strict=True)
                ]
        return results

    return layer
