"""Two alignments that meet in a middle text, as one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cpunmt.translation.alignments import Matrix
from cpunmt.translation.texts.aligned import Aligned, Layer, Span


def composed(first: Aligned, second: Aligned) -> Aligned:
    """From the source of `first` to the target of `second`, whose source is the target of `first`.

    A target piece comes from what that middle piece of `first` comes from which shares most characters with the
    middle piece of `second` that it comes from, of equals the first. What has none has no link.
    """
    over = overlaps(second.source_spans, first.target_spans)
    sources: dict[int, list[int]] = {}
    for source, middle in first.links:
        sources.setdefault(middle, []).append(source)
    links: dict[tuple[int, int], None] = {}  # in order, none twice
    for middle, target in second.links:
        shared = [(-size, piece) for piece, size in over[middle] if piece in sources]
        for source in sources[min(shared)[1]] if shared else ():
            links[source, target] = None
    return second._replace(
        source=first.source, source_spans=first.source_spans, links=sorted(links, key=lambda link: link[::-1])
    )


def composed_attention(
    first: Matrix, first_spans: Sequence[Span], second: Matrix, second_spans: Sequence[Span]
) -> Matrix:
    """The attention of a target to a source through a middle text.

    A middle piece of `second` stands for those of `first` with which it shares characters, weighted by how many.

    Parameters
    ----------
    first : float32 [middle pieces, source pieces]
    first_spans : where its middle pieces stand in the middle text
    second : float32 [target pieces, middle pieces], which are others
    second_spans : where those stand

    Returns float32 [target pieces, source pieces]. No BLAS: it adds in an order that depends on the processor.
    """
    found = np.zeros((second.shape[0], first.shape[1]), np.float32)
    for middle, shared in enumerate(overlaps(second_spans, first_spans)):
        total = sum(size for _, size in shared)
        row = np.zeros(first.shape[1], np.float32)
        for piece, size in shared:
            row += np.float32(size / total) * first[piece]
        found += second[:, middle, None] * row
    return found


def overlaps(spans: Sequence[Span], others: Sequence[Span]) -> list[list[tuple[int, int]]]:
    """Of each span (other, characters that both have) of those others that share some; both ascend."""
    found, start = [], 0
    for begin, end in spans:
        while start < len(others) and others[start][1] <= begin:
            start += 1
        shared = []
        for number in range(start, len(others)):
            if others[number][0] >= end:
                break
            size = min(end, others[number][1]) - max(begin, others[number][0])
            if size > 0:
                shared.append((number, size))
        found.append(shared)
    return found


def pivot_layer(layers: Sequence[Layer]) -> Layer:
    """A layer that translates through several, each of which translates what the one before it says."""

    def layer(texts: Sequence[str], align: bool) -> list[Aligned]:
        results = layers[0](texts, align)
        for below in layers[1:]:
            following = below([result.target for result in results], align)
            if align:
                results = [composed(*pair) for pair in zip(results, following, strict=True)]
            else:
                results = [after._replace(source=text) for text, after in zip(texts, following, strict=True)]
        return results

    return layer
