"""Filters: what is wrong with a row, by names that stand in the column `flags`."""

from __future__ import annotations

from collections.abc import Callable

from cpunmt.corpora.job import Filters
from cpunmt.corpora.translation_cache import Translated

IsIn = Callable[[str], bool]  # whether a text is in the wanted language, as far as can be told


def flags_of(made: Translated, filters: Filters, is_in: IsIn | None) -> tuple[str, ...]:
    """Names of what is wrong, in this order: score, ratio, loop, truncated, language.

    A blank text has nothing that could be wrong. `is_in`: needed where a language is wanted.
    """
    if not made.sources:
        return ()
    found = []
    if filters.min_score is not None and not made.score >= filters.min_score:
        found.append("score")
    if filters.max_length_ratio is not None and ratio(made.sources, made.pieces) > filters.max_length_ratio:
        found.append("ratio")
    if filters.no_loops and made.loops:
        found.append("loop")
    if filters.no_truncated and made.truncated:
        found.append("truncated")
    if is_in is not None and not is_in(made.text):
        found.append("language")
    return tuple(found)


def ratio(sources: int, targets: int) -> float:
    """How many times more pieces one side has, the end of a sentence counted on both."""
    return max((sources + 1) / (targets + 1), (targets + 1) / (sources + 1))
