"""What a translation gives: our own types, and those of CTranslate2."""

from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np

from cpunmt.translation.alignments import hard_alignment, matrix_rows, whole_matrix
from cpunmt.translation.options import Options
from cpunmt.translation.repetition import repeats

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One translation of a sentence.

    text             the translation
    score            (log_prob - word_penalty n) / n^length_penalty for n pieces, </s> included, and the coverage's part
    log_prob         sum of the log-probabilities of its pieces, </s> included
    truncated        the length limit cut it off
    pieces           its pieces, </s> left out
    token_log_probs  the terms of that sum, in order; None unless asked for (return_token_log_probs)
    attention_parts  float32 [pieces, source pieces] of each part that was translated, mostly one, </s> left out; None
                     unless asked for (return_alignments)

    Of a sentence that was translated in parts, `log_prob` is the sum over the parts, and there is one </s> for each;
    `score` is the mean of their scores, weighted by their source pieces.
    """

    text: str
    score: float
    log_prob: float
    truncated: bool
    pieces: tuple[str, ...]
    token_log_probs: tuple[float, ...] | None = None
    attention_parts: tuple[np.ndarray, ...] | None = field(default=None, compare=False, repr=False)

    @property
    def attention(self) -> np.ndarray | None:
        """The parts as one float32 [pieces, source pieces]: of a long text mostly zeros, and as large as its square."""
        return None if self.attention_parts is None else whole_matrix(self.attention_parts)

    @property
    def alignments(self) -> list[tuple[int, int]] | None:
        """Pairs (source piece, target piece), ascending: each target piece with that which it attends to most."""
        return None if self.attention_parts is None else hard_alignment(self.attention_parts)

    @property
    def repeats(self) -> bool:
        """Whether it looks like a loop, of the same pieces or nearly the same: see `repetition.repeats`."""
        return repeats(self.pieces)

    def __str__(self):
        return self.text


class _OfBest(Generic[T]):
    """An attribute of a Result that its best hypothesis has."""

    def __set_name__(self, owner, name):
        self._name, self.__doc__ = name, f"Of the best translation: see `Hypothesis.{name}`."

    def __get__(self, result, owner=None) -> T:
        return self if result is None else getattr(result.hypotheses[0], self._name)


@dataclass(frozen=True, slots=True)
class Result:
    """The translations of one sentence, best first, and as attributes of its own what the best one has.

    `source_pieces` are those that alignments count, without </s>; None unless alignments were asked for.
    """

    hypotheses: tuple[Hypothesis, ...]
    source_pieces: tuple[str, ...] | None = None

    text = _OfBest[str]()
    score = _OfBest[float]()
    log_prob = _OfBest[float]()
    truncated = _OfBest[bool]()
    pieces = _OfBest[tuple[str, ...]]()
    token_log_probs = _OfBest[tuple[float, ...] | None]()
    attention = _OfBest[np.ndarray | None]()
    alignments = _OfBest[list[tuple[int, int]] | None]()
    repeats = _OfBest[bool]()

    def __str__(self):
        return self.text


@dataclass(frozen=True, slots=True)
class TranslationResult:
    """The translations of one sentence, best first, in CTranslate2's shape.

    hypotheses  pieces of each; there are `num_hypotheses`, the last repeated where the search found fewer
    scores      length-normalized score of each; empty unless asked for (return_scores)
    attention   lists [pieces][source pieces] of each; empty unless asked for (return_attention)
    logits      always empty
    """

    hypotheses: list[list[str]]
    scores: list[float] = field(default_factory=list)
    attention: list[list[list[float]]] = field(default_factory=list)
    logits: list = field(default_factory=list)

    def __len__(self):
        return len(self.hypotheses)

    def __getitem__(self, index: int) -> dict:
        """Hypothesis `index` as a dict, as in old versions of CTranslate2."""
        found = {"tokens": self.hypotheses[index]}
        if self.scores:
            found["score"] = self.scores[index]
        if self.attention:
            found["attention"] = self.attention[index]
        return found


@dataclass(frozen=True, slots=True)
class ScoringResult:
    """How probable a given translation is.

    tokens     its pieces, </s> included
    log_probs  log-probability of each; minus infinity for a piece outside the vocabulary that was asked for
    log_prob   their sum
    score      length-normalized, as of a Hypothesis
    """

    tokens: list[str]
    log_probs: list[float]
    log_prob: float
    score: float


@dataclass(frozen=True, slots=True)
class ExecutionStats:
    """What `translate_file` did: target pieces (those of the best translations), sentences, milliseconds."""

    num_tokens: int
    num_examples: int
    total_time_in_ms: float


def translation_result(result: Result, options: Options) -> TranslationResult:
    """`result` in CTranslate2's shape: `num_hypotheses` of them, the last again and again if the search found fewer."""
    found = list(result.hypotheses)
    found += found[-1:] * (options.num_hypotheses - len(found))
    return TranslationResult(
        [list(hypothesis.pieces) for hypothesis in found],
        [hypothesis.score for hypothesis in found] if options.return_scores else [],
        [list(matrix_rows(hypothesis.attention_parts)) for hypothesis in found] if options.return_alignments else [],
    )
