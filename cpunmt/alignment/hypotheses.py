"""All translations of a sentence, not only the best, when a layer changes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from cpunmt.alignment.aligned import Aligned, Span
from cpunmt.results.results import Hypothesis, Result


def aligned_hypotheses(below: Aligned) -> list[Aligned]:
    """Returns each translation in `below.found`, best first; without it the one that `below` is."""
    found = below.found
    return [below] if found is None else [below, *(_aligned(below.source, found, one) for one in found.hypotheses[1:])]


def _aligned(source: str, found: Result, hypothesis: Hypothesis) -> Aligned:
    if hypothesis.spans is None:
        return Aligned(source, hypothesis.text)
    links = sorted(hypothesis.alignments or (), key=lambda link: link[::-1])  # of the engine's own source pieces
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
    source : the text that the layer was given
    targets : for each translation its text, and where each piece of it stands there; None: it is left out
    align : whether the alignment is kept
    moved : finds where source pieces stand in `source`, which the layer below may have been given in other words
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
    """Of the pieces of the best translation, </s> included; None if it is not known."""
    return None if aligned.found is None else aligned.found.log_prob / (len(aligned.found.pieces) + 1)
