"""All translations of a sentence, not only the best, when a layer changes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cpunmt.alignment.aligned import Aligned, Span
from cpunmt.results.results import Hypothesis, Result


def aligned_hypotheses(below: Aligned) -> list[Aligned]:
    """Each translation in `below.found`, best first; without it the one that `below` is."""
    if below.found is None:
        return [below]
    others = below.found.hypotheses[1:]
    return [below, *(_aligned(below, hypothesis) for hypothesis in others)]


def _aligned(below: Aligned, hypothesis: Hypothesis) -> Aligned:
    if hypothesis.spans is None:
        return Aligned(below.source, hypothesis.text)
    links = sorted(hypothesis.alignments or (), key=lambda link: link[::-1])
    return Aligned(below.source, hypothesis.text, below.source_spans, hypothesis.spans, links)


def changed_result(
    found: Result,
    source: str,
    source_spans: Sequence[Span],
    targets: Sequence[tuple[str, Sequence[Span]] | None],
    align: bool,
) -> Result:
    """`found` with the texts that a layer made of its translations.

    Parameters
    ----------
    source, source_spans : what was given, and where each piece of `found` stands in it
    targets : for each translation its text, and where each piece of it stands there; None: it is left out
    align : whether the alignment is kept
    """
    hypotheses = []
    for hypothesis, target in zip(found.hypotheses, targets, strict=True):
        if target is None:
            continue
        text, spans = target
        if align:
            hypotheses.append(replace(hypothesis, text=text, spans=None if hypothesis.spans is None else tuple(spans)))
        else:
            hypotheses.append(replace(hypothesis, text=text, spans=None, attention_parts=None))
    kept = align and found.source_spans is not None
    return replace(
        found,
        hypotheses=tuple(hypotheses),
        source_pieces=found.source_pieces if align else None,
        source_spans=tuple(source_spans) if kept else None,
        num_source_characters=len(source),
    )


def mean_log_prob(aligned: Aligned) -> float | None:
    """Of the pieces of the best translation, </s> included; None if it is not known."""
    return None if aligned.found is None else aligned.found.log_prob / (len(aligned.found.pieces) + 1)
