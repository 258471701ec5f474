"""A sentence of a text, as a Result tells of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from cpunmt.text.piece_spans import Span


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a text and its translation. Spans are begin and end in code points: `text[slice(*span)]`.

    source      where it stands in the text
    target      where its translation stands in the text's translation
    score       of its translation: see `Hypothesis`
    log_prob    the sum of the log-probabilities of its pieces, </s> included
    truncated   the length limit cut it off
    repeats     it looks like a loop
    alignments  pairs (source span, target span), ascending by target: what each part of the translation comes from;
                None unless asked for (return_alignments)
    """

    source: Span
    target: Span
    score: float
    log_prob: float
    truncated: bool
    repeats: bool
    alignments: list[tuple[Span, Span]] | None = None

    def to_dict(self) -> dict[str, Any]:
        """What JSON can hold of it, under the same names; minus infinity, which JSON lacks, becomes None."""
        found: dict[str, Any] = {
            "source": list(self.source),
            "target": list(self.target),
            "score": self.score if math.isfinite(self.score) else None,
            "log_prob": self.log_prob if math.isfinite(self.log_prob) else None,
            "truncated": self.truncated,
            "repeats": self.repeats,
        }
        if self.alignments is not None:
            found["alignments"] = [[list(source), list(target)] for source, target in self.alignments]
        return found


if TYPE_CHECKING:  # one for all processes that begin takes a quarter of a millisecond

    class Translation(Protocol):
        """What is told of a sentence's translation: a Hypothesis, which counts from the sentence's own beginning."""

        @property
        def score(self) -> float: ...
        @property
        def log_prob(self) -> float: ...
        @property
        def truncated(self) -> bool: ...
        @property
        def repeats(self) -> bool: ...
        @property
        def alignments(self) -> list[tuple[int, int]] | None: ...
        @property
        def spans(self) -> tuple[Span, ...] | None: ...


class Part(NamedTuple):
    """A sentence of a text as one of its parts."""

    source: Span
    target: Span
    translation: Translation
    source_spans: tuple[Span, ...] | None  # of its pieces, from its own beginning

    def sentence(self) -> Sentence:
        """It as a Result tells of it."""
        best = self.translation
        return Sentence(
            self.source, self.target, best.score, best.log_prob, best.truncated, best.repeats, self._alignments()
        )

    def _alignments(self) -> list[tuple[Span, Span]] | None:
        links, spans = self.translation.alignments, self.translation.spans
        if links is None or spans is None or self.source_spans is None:
            return None
        sources, targets = self.source_spans, spans
        found = [
            (shifted(sources[i], self.source[0]), shifted(targets[k], self.target[0])) for i, k in _by_target(links)
        ]
        return [(source, target) for source, target in found if source[0] < source[1] and target[0] < target[1]]


def _by_target(links: list[tuple[int, int]]) -> list[tuple[int, int]]:
    return sorted(links, key=lambda link: link[::-1])


def shifted(span: Span, by: int) -> Span:
    """A span so many characters later."""
    return span[0] + by, span[1] + by
