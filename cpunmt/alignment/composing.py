"""Two alignments that meet in a middle text, as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cpunmt.alignment.aligned import Aligned, Layer, Span
from cpunmt.results.alignments import Matrix
from cpunmt.results.results import Result


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
    found = second.found and first.found and composed_result(first.found, second.found)
    return Aligned(
        first.source,
        second.target,
        first.source_spans,
        second.target_spans,
        sorted(links, key=lambda link: link[::-1]),
        found,
    )


def composed_result(first: Result, second: Result) -> Result:
    """Returns the result of the second model for the first one's source; truncated if either translation was.

    Attention, where both have it, is multiplied through the middle text.
    """
    over, cut = None, first.truncated
    middle, seen = first.hypotheses[0].spans, second.source_spans
    if first.attention is not None and middle is not None and seen is not None:
        over = _weights(seen, middle)
    made = []
    for hypothesis in second.hypotheses:
        parts = None
        if over is not None and first.attention is not None and hypothesis.attention is not None:
            parts = (composed_attention(first.attention, over, hypothesis.attention),)
        made.append(replace(hypothesis, truncated=hypothesis.truncated or cut, attention_parts=parts))
    return replace(first, hypotheses=tuple(made))


Weights = Sequence[Sequence[tuple[int, float]]]  # of each middle piece of the second: (one of the first, its weight)


def _weights(seen: Sequence[Span], made: Sequence[Span]) -> Weights:
    """Finds the pieces of the first model that each middle piece of the second stands for, by shared characters."""
    found = []
    for shared in overlaps(seen, made):
        total = sum(size for _, size in shared)
        found.append([(piece, size / total) for piece, size in shared])
    return found


def composed_attention(first: Matrix, over: Weights, second: Matrix) -> Matrix:
    """The attention of a target to a source through a middle text.

    Parameters
    ----------
    first : float32 [middle pieces, source pieces]
    over : what the middle pieces of `second` stand for
    second : float32 [target pieces, middle pieces], which are others

    Returns float32 [target pieces, source pieces]. No BLAS: it adds in an order that depends on the processor.
    """
    found = np.zeros((second.shape[0], first.shape[1]), np.float32)
    for middle, shared in enumerate(over):
        row = np.zeros(first.shape[1], np.float32)
        for piece, weight in shared:
            row += np.float32(weight) * first[piece]
        found += second[:, middle, None] * row
    return found


def overlaps(spans: Sequence[Span], others: Sequence[Span]) -> list[list[tuple[int, int]]]:
    """Returns for each span (other, shared characters) of the others that it overlaps; both lists ascend."""
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
            results = [composed(*pair) for pair in zip(results, following, strict=True)]
        return results

    return layer
