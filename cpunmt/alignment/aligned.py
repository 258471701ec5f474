"""A text with its translation and the links between their parts: the type that layers exchange.

A layer takes texts and returns one `Aligned` per text, whose `source` is the text that it received. It may rewrite the
text for the layer below (cut it into sentences, replace a URL by a stand-in); it then maps the offsets back. The lowest
layer translates single sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from cpunmt.results.results import Hypothesis, Result
from cpunmt.text.vocabularies.piece_spans import Span as Span  # begin and end, in code points


class Aligned(NamedTuple):
    """A translation with its alignment. Without alignment `source_spans`, `target_spans` and `links` are empty.

    source        the text that the layer received
    target        its translation
    source_spans  span of each source piece in `source`, ascending; a piece may have no characters
    target_spans  span of each target piece in `target`, likewise
    links         (source piece, target piece), ascending by target piece: the main source of each target piece
    found         the engine's result, with its scores; a layer that changes the texts passes it on unchanged
    kept          (source span, target span) of each untranslated part, ascending in the target; both spans have the
                  same characters
    """

    source: str
    target: str
    source_spans: Sequence[Span] = ()
    target_spans: Sequence[Span] = ()
    links: Sequence[tuple[int, int]] = ()
    found: Result | None = None
    kept: Sequence[tuple[Span, Span]] = ()


# (texts, whether to align them) -> one translation per text, in order
Layer = Callable[[Sequence[str], bool], list[Aligned]]


def aligned_hypotheses(below: Aligned) -> list[Aligned]:
    """Returns each translation in `below.found`, best first; without `found`, only `below` itself."""
    found = below.found
    return [below] if found is None else [below, *(_aligned(below.source, found, one) for one in found.hypotheses[1:])]


def _aligned(source: str, found: Result, hypothesis: Hypothesis) -> Aligned:
    if hypothesis.spans is None:
        return Aligned(source, hypothesis.text)
    links = sorted(hypothesis.alignments or (), key=lambda link: link[::-1])  # between the engine's own pieces
    return Aligned(source, hypothesis.text, found.source_spans or (), hypothesis.spans, links)


def changed_result(
    found: Result | None,
    source: str,
    targets: Sequence[tuple[str, Sequence[Span]] | None],
    align: bool,
    moved: Callable[[Sequence[Span]], Sequence[Span]] = tuple,
) -> Result | None:
    """Returns `found` with the texts that a layer made of its translations; None stays None.

    Parameters
    ----------
    source : the text that the layer received
    targets : text and piece spans of each translation; None drops the translation
    align : whether to keep the alignment
    moved : finds the spans of source pieces in `source`; the layer below may have seen a different wording
    """
    if found is None:
        return None
    hypotheses = []
    for hypothesis, target in zip(found.hypotheses, targets, strict=True):
        if target is None:
            continue
        text, spans = target
        if align:
            hypotheses.append(replace(hypothesis, text=text, spans=None if hypothesis.spans is None else tuple(spans)))
        else:
            hypotheses.append(replace(hypothesis, text=text, spans=None, attention_parts=None))
    return replace(
        found,
        hypotheses=tuple(hypotheses),
        source_pieces=found.source_pieces if align else None,
        source_spans=tuple(moved(found.source_spans)) if align and found.source_spans is not None else None,
        num_source_characters=len(source),
    )


def mean_log_prob(aligned: Aligned) -> float | None:
    """Returns the mean log-probability of the best translation's pieces, </s> included; None if unknown."""
    if aligned.found is None:
        return None
    best = aligned.found.hypotheses[0]
    return best.log_prob / (len(best.pieces) + 1)
