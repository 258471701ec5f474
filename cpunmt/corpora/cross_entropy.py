"""Dual conditional cross-entropy (Junczys-Dowmunt 2018): how far two models, one each way, trust a pair.

    score = exp(-(|H(y|x) - H(x|y)| + (H(y|x) + H(x|y)) / 2))

H is the cross-entropy per piece, </s> included, in nats; the paper's is per word. 1 is best. A pair that cannot be
scored (a side is blank, or has more than 4,095 pieces) has 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from cpunmt.corpora.directions import Direction, directions_of, examples, lists
from cpunmt.corpora.flags import ratio
from cpunmt.corpora.inputs.rows import Made, Rows
from cpunmt.corpora.job import Job
from cpunmt.corpora.translating import Progress
from cpunmt.decoding.scoring import LONGEST
from cpunmt.files.windows import windows
from cpunmt.options.options import SPOKEN
from cpunmt.results.results import ScoringResult
from cpunmt.translator.translator import Translator

WINDOW = 4096  # pairs
_DIGITS = 6  # of a score: further bits depend on the mathematics library
_REVERSE = dict(zip(SPOKEN, SPOKEN[::-1], strict=True))


class Pair(NamedTuple):
    """A pair of texts, and its languages for the model of each direction, as columns name them."""

    source: str
    target: str
    forward: Direction
    backward: Direction


class _Call(NamedTuple):
    """The scoring of pairs with one model."""

    translator: Translator
    sources: list[str]
    targets: list[str]
    languages: dict[str, Any]


def dual_score(forward: float, backward: float) -> float:
    """Returns the score of a pair with these cross-entropies, in nats per piece; 0 for infinite ones."""
    if not (math.isfinite(forward) and math.isfinite(backward)):
        return 0.0
    exact = math.exp(-(abs(forward - backward) + (forward + backward) / 2))
    return float(f"{exact:.{_DIGITS}g}")


class Scoring:
    """Scores the pairs of rows."""

    def __init__(self, forward: Translator, backward: Translator, job: Job):
        """`forward` translates sources to targets, `backward` targets to sources."""
        self._forward, self._backward, self._job = forward, backward, job
        self._columns = job.languages
        self._reversed = {_REVERSE[name]: column for name, column in job.languages.items()}
        for translator, columns in ((forward, self._columns), (backward, self._reversed)):
            translator.score([], [], **examples(columns, translator))  # ValueError if it does not know its languages

    def made(self, rows: Rows, progress: Progress) -> Made:
        """Returns the columns: scores and flags, as the job says. A row without a side has no score."""
        assert rows.targets is not None
        forward = directions_of(rows, self._columns, self._forward, {})
        backward = directions_of(rows, self._reversed, self._backward, {})
        pairs = [
            None if source is None or target is None else Pair(source, target, there, back)
            for source, target, there, back in zip(rows.texts, rows.targets, forward, backward, strict=True)
        ]
        distinct = list(dict.fromkeys(pair for pair in pairs if pair is not None))
        found: dict[Pair, tuple[float, tuple[str, ...]]] = {}
        for window in windows(distinct, WINDOW, WINDOW):
            found.update(self._scored(window))
            progress(len(found) / len(distinct))
        scores = [None if pair is None else found[pair][0] for pair in pairs]
        flags = [() if pair is None else found[pair][1] for pair in pairs] if self._job.filters else None
        return Made({"score": scores}, flags, len(distinct))

    def _scored(self, pairs: list[Pair]) -> dict[Pair, tuple[float, tuple[str, ...]]]:
        forward = self._forward
        sizes = [
            (len(forward.source_vocabulary.encode(source)), len(forward.target_vocabulary.encode(target)))
            for source, target, *_ in pairs
        ]
        longest = map(max, *map(_longest, self._calls(pairs)))
        can_be = [min(size) > 1 and most <= LONGEST for size, most in zip(sizes, longest, strict=True)]
        chosen = [pair for pair, can in zip(pairs, can_be, strict=True) if can]
        there, again = (
            call.translator.score(call.sources, call.targets, **call.languages) for call in self._calls(chosen)
        )
        scores = {
            pair: dual_score(_entropy(one), _entropy(other))
            for pair, one, other in zip(chosen, there, again, strict=True)
        }
        return {
            pair: (score := scores.get(pair, 0.0), self._flags(score, *size))
            for pair, size in zip(pairs, sizes, strict=True)
        }

    def _calls(self, pairs: list[Pair]) -> Iterator[_Call]:
        sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
        yield _Call(self._forward, sources, targets, lists(self._columns, [pair.forward for pair in pairs]))
        yield _Call(self._backward, targets, sources, lists(self._reversed, [pair.backward for pair in pairs]))

    def _flags(self, score: float, source: int, target: int) -> tuple[str, ...]:
        filters, found = self._job.filters, []
        if filters.min_score is not None and score < filters.min_score:
            found.append("score")
        if filters.max_length_ratio is not None and ratio(source - 1, target - 1) > filters.max_length_ratio:
            found.append("ratio")
        return tuple(found)


def _longest(call: _Call) -> list[int]:
    """Returns the number of pieces of each pair's longer side, as it is scored."""
    translator = call.translator
    each = translator.settings_of_each({}, call.languages, None, len(call.sources))
    settings = each[0] if each else translator.call_settings({}, None)
    sides = translator.named(call.sources, settings, each), call.targets
    vocabularies = translator.source_vocabulary, translator.target_vocabulary
    encoded = [vocabulary.encode_batch(side) for vocabulary, side in zip(vocabularies, sides, strict=True)]
    return [max(map(len, pair)) for pair in zip(*encoded, strict=True)]


def _entropy(result: ScoringResult) -> float:
    return -result.log_prob / len(result.tokens)
