"""A sentence of a text, as a Result reports it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from cpunmt.text.vocabularies.piece_spans import Span


def finite(value: float) -> float | None:
    """Returns a value that JSON can hold: None for an infinity or a NaN."""
    return float(value) if math.isfinite(value) else None


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a text and its translation. Spans are begin and end in code points: `text[slice(*span)]`.

    source      span in the text
    target      span of the translation in the text's translation
    score       of its translation: see `Hypothesis`
    log_prob    the sum of the log-probabilities of its pieces, </s> included
    truncated   whether the length limit cut it off
    repeats     whether it looks like a loop
    alignments  pairs (source span, target span), ascending by target: the source of each part of the translation;
                None without return_alignments
    token_log_probs  pairs (target span, log-probability) of the translation's pieces, in order, without </s>. None
                unless both were requested (return_alignments, return_token_log_probs), and for a sentence
                translated in several parts of which one was cut off
    """

    source: Span
    target: Span
    score: float
    log_prob: float
    truncated: bool
    repeats: bool
    alignments: list[tuple[Span, Span]] | None = None
    token_log_probs: list[tuple[Span, float]] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Returns the fields as JSON can hold them; minus infinity, which JSON lacks, becomes None."""
        found: dict[str, Any] = {
            "source": list(self.source),
            "target": list(self.target),
            "score": finite(self.score),
            "log_prob": finite(self.log_prob),
            "truncated": self.truncated,
            "repeats": self.repeats,
        }
        if self.alignments is not None:
            found["alignments"] = [[list(source), list(target)] for source, target in self.alignments]
        if self.token_log_probs is not None:
            terms = self.token_log_probs
            found["token_log_probs"] = [[list(span), finite(value)] for span, value in terms]
        return found


if TYPE_CHECKING:  # shared by all starting processes: takes a quarter of a millisecond
    from cpunmt.results.alignments import Matrix

    class Translation(Protocol):
        """The attributes of a sentence's translation: a Hypothesis, which counts from the sentence's own beginning."""

        @property
        def text(self) -> str: ...
        @property
        def score(self) -> float: ...
        @property
        def log_prob(self) -> float: ...
        @property
        def truncated(self) -> bool: ...
        @property
        def repeats(self) -> bool: ...
        @property
        def pieces(self) -> tuple[str, ...]: ...
        @property
        def alignments(self) -> list[tuple[int, int]] | None: ...
        @property
        def spans(self) -> tuple[Span, ...] | None: ...
        @property
        def token_log_probs(self) -> tuple[float, ...] | None: ...
        @property
        def attention_parts(self) -> tuple[Matrix, ...] | None: ...


class SentencePart(NamedTuple):
    """A sentence of a text as one of its parts."""

    source: Span
    target: Span
    translation: Translation
    source_spans: tuple[Span, ...] | None  # of its pieces, from its own beginning

    def sentence(self) -> Sentence:
        """Converts the part to the sentence that a Result reports."""
        best = self.translation
        told = best.score, best.log_prob, best.truncated, best.repeats
        return Sentence(self.source, self.target, *told, self._alignments(), self._token_log_probs())

    def _alignments(self) -> list[tuple[Span, Span]] | None:
        links, spans = self.translation.alignments, self.translation.spans
        if links is None or spans is None or self.source_spans is None:
            return None
        sources, targets = self.source_spans, spans
        found = [
            (shifted(sources[i], self.source[0]), shifted(targets[k], self.target[0])) for i, k in _by_target(links)
        ]
        return [(source, target) for source, target in found if source[0] < source[1] and target[0] < target[1]]

    def _token_log_probs(self) -> list[tuple[Span, float]] | None:
        """Returns the log-probabilities without the </s> of each part; None if a part was cut off, as any part may lack
        it."""
        best = self.translation
        spans, terms, parts = best.spans, best.token_log_probs, best.attention_parts
        if spans is None or terms is None or parts is None:
            return None
        if len(parts) > 1 and len(terms) != len(spans) + len(parts):
            return None
        found: list[float] = []
        for number, rows in enumerate(parts):
            found += terms[len(found) + number :][: len(rows)]
        return [(shifted(span, self.target[0]), term) for span, term in zip(spans, found, strict=True)]


def _by_target(links: list[tuple[int, int]]) -> list[tuple[int, int]]:
    return sorted(links, key=lambda link: link[::-1])


def shifted(span: Span, by: int) -> Span:
    """Moves a span `by` characters."""
    return span[0] + by, span[1] + by
