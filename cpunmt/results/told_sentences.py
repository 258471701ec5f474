"""Lists the sentences of a text or of markup, with the scores of their translations."""

from __future__ import annotations

from collections.abc import Iterator

from cpunmt.results.results import Hypothesis


def sentences_in_markup(best: Hypothesis) -> tuple[tuple[str, Hypothesis], ...]:
    """Returns the sentences in markup with their translations; none if the text is plain."""
    return best._inner


def sentences_of(text: str, best: Hypothesis) -> Iterator[tuple[str, Hypothesis]]:
    """Yields each sentence of a text or of markup with its translation, which has scores and pieces, but no text."""
    if best._inner:
        yield from best._inner
        return
    parts = [(text[slice(*part.source)], part.translation) for part in best._parts]
    for own, one in parts or [(text, best)]:
        yield own, Hypothesis("", one.score, one.log_prob, one.truncated, one.pieces)
