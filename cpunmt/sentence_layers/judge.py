"""The finder of doubts that results and commands hold: small, and picklable without a model."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import NamedTuple

from cpunmt.process.first_use import LOCK
from cpunmt.results.results import DoubtName, Hypothesis


class Judge(NamedTuple):
    """A finder of doubts about translations.

    language  of the translations; None if unknown
    are_kept  whether the option `protect` keeps all parts that all languages keep
    """

    language: str | None
    are_kept: bool

    def doubts(self, source: str, best: Hypothesis) -> tuple[DoubtName, ...]:
        """Returns the doubts about the translation of a sentence, in the order of `DOUBTS`."""
        found: tuple[DoubtName, ...] = _checks().doubts(source, best, *self)
        return found


@functools.cache
def _checks() -> ModuleType:
    with LOCK:  # most processes read no doubts
        from cpunmt.sentence_layers import doubts
    return doubts
