"""The result that layers of a text hand to one another: a text, its translation, and the links between their parts.

A layer takes texts and gives an `Aligned` for each, whose `source` is the text as it was given. It may change what the
layer below is given (cut it into sentences, put a stand-in for an URL) and maps the offsets back. The lowest layer
translates single sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from cpunmt.results.results import Hypothesis, Result
from cpunmt.text.piece_spans import Span as Span  # begin and end, in code points


class Aligned(NamedTuple):
    """A translation. Without alignment `source_spans`, `target_spans` and `links` are empty.

    source        the text that was given
    target        its translation
    source_spans  where each source piece stands in `source`, ascending; a piece may have no characters
    target_spans  the same of each target piece in `target`
    links         (source piece, target piece), ascending by target piece: what each comes from, most of all
    found         what the engine found, with its scores; a layer that changes the texts hands it on as it is
    kept          (span of the source, span of the target) of parts that were not translated, ascending in the target;
                  both spans have the same characters
    """

    source: str
    target: str
    source_spans: Sequence[Span] = ()
    target_spans: Sequence[Span] = ()
    links: Sequence[tuple[int, int]] = ()
    found: Result | None = None
    kept: Sequence[tuple[Span, Span]] = ()


# (texts, whether their alignment is wanted) -> as many translations, in order
Layer = Callable[[Sequence[str], bool], list[Aligned]]


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
    """Returns the mean of the pieces of the best translation, </s> included; None if it is not known."""
    if aligned.found is None:
        return None
    best = aligned.found.hypotheses[0]
    return best.log_prob / (len(best.pieces) + 1)
