"""Composes two alignments that share a middle text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cpunmt.alignment.aligned import Aligned, Layer, Span
from cpunmt.results.alignments import Matrix
from cpunmt.results.results import Result


def composed(first: Aligned, second: Aligned) -> Aligned:
    """Returns a translation from the source of `first` to the target of `second`.

    The target of `first` is the source of `second`. A link joins two links: one of `second` from its source piece, and
    those of `first` to the linked target piece that shares most characters with it; on a tie, to the first. If no
    piece shares any, the pieces are not linked.
    """
    over = overlaps(second.source_spans, first.target_spans)
    sources: dict[int, list[int]] = {}
    for source, middle in first.links:
        sources.setdefault(middle, []).append(source)
    links: dict[tuple[int, int], None] = {}  # ordered, without duplicates
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
    """Returns the second model's result for the first model's source; truncated if either translation was.

    If both results have attention, it is multiplied through the middle text.
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


Weights = Sequence[Sequence[tuple[int, float]]]  # for each middle piece of the second: (piece of the first, its weight)


def _weights(seen: Sequence[Span], made: Sequence[Span]) -> Weights:
    """Finds the first model's pieces that each middle piece of the second overlaps, weighted by shared characters."""
    found = []
    for shared in overlaps(seen, made):
        total = sum(size for _, size in shared)
        found.append([(piece, size / total) for piece, size in shared])
    return found


def composed_attention(first: Matrix, over: Weights, second: Matrix) -> Matrix:
    """Returns the attention of a target to a source through a middle text, float32 [target pieces, source pieces].

    Parameters
    ----------
    first : float32 [middle pieces, source pieces]
    over : weights of the first model's middle pieces in each middle piece of the second
    second : float32 [target pieces, middle pieces], in the second model's middle pieces

    Avoids BLAS, whose order of additions depends on the processor.
    """
    found = np.zeros((second.shape[0], first.shape[1]), np.float32)
    for middle, shared in enumerate(over):
        row = np.zeros(first.shape[1], np.float32)
        for piece, weight in shared:
            row += np.float32(weight) * first[piece]
        found += second[:, middle, None] * row
    return found


def overlaps(spans: Sequence[Span], others: Sequence[Span]) -> list[list[tuple[int, int]]]:
    """Returns (number, shared characters) of all `others` that each span overlaps; both lists ascend."""
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
    """Returns a layer that chains several: each translates the output of the one before."""

    def layer(texts: Sequence[str], align: bool) -> list[Aligned]:
        results = layers[0](texts, align)
        for below in layers[1:]:
            following = below([result.target for result in results], align)
            results = [composed(*pair) for pair in zip(results, following, strict=True)]
        return results

    return layer
