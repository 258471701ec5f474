"""HTML as a Result: the text is the document, and what is told of it is told of all that was translated in it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from cpunmt.translation.markup.html_layer import translate_html
from cpunmt.translation.results import Hypothesis, Result
from cpunmt.translation.texts.aligned import Aligned, Layer
from cpunmt.translation.texts.cut_text import uses_together


def html_result(html: str, below: Layer, language: str | None) -> Result:
    """The Result of one document; arguments are those of `translate_html`.

    It has one hypothesis, and no pieces: they are in blocks, most of which have tags between them. `score` is the mean
    of the blocks' scores, weighted by their source pieces; `truncated` says whether any was cut off.
    """
    found: list[Result] = []

    def noting(texts: Sequence[str], align: bool) -> list[Aligned]:
        made = below(texts, align)
        found.extend(aligned.found for aligned in made if aligned.found is not None)
        return made

    (text,) = translate_html([html], noting, language)
    weights = [result.num_source_pieces for result in found]
    total = sum(weights)
    score = (
        math.fsum(result.score * weight for result, weight in zip(found, weights, strict=True)) / total
        if total
        else 0.0
    )
    log_prob = math.fsum(result.log_prob for result in found)
    truncated = any(result.truncated for result in found)
    hypothesis = Hypothesis(text, score, log_prob, truncated, ())
    return Result(
        (hypothesis,), num_source_pieces=total, num_source_characters=len(html), glossary=uses_together(found)
    )
