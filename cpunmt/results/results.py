"""Results of calls: our own types, and those of CTranslate2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

from cpunmt.options.options import Options
from cpunmt.process.first_use import LOCK
from cpunmt.results.alignments import hard_alignment, matrix_rows, whole_matrix
from cpunmt.results.repetition import repeats
from cpunmt.results.sentence import Sentence, SentencePart, finite
from cpunmt.text.vocabularies.piece_spans import Span

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt  # takes 1 ms

    from cpunmt.results.glossary_use import GlossaryUse


from collections.abc import Iterator

DoubtName = Literal["truncated", "loop", "echo", "script", "length", "numbers", "kept"]
DOUBTS: tuple[DoubtName, ...] = get_args(DoubtName)
_SHOWN = 300  # characters of a text in a repr


@dataclass(frozen=True, slots=True, repr=False)
class Hypothesis:
    """One translation of a text.

    text             the translation
    score            (log_prob - word_penalty n) / n^length_penalty for n pieces, </s> included, and the coverage's part
    log_prob         sum of the log-probabilities of its pieces, </s> included
    truncated        the length limit cut it off
    pieces           its pieces, </s> left out
    token_log_probs  the terms of that sum, in order; None without return_token_log_probs
    attention_parts  float32 [pieces, source pieces] of each translated part, usually one, without </s>; None
                     without return_alignments
    spans            begin and end of each piece in `text`, in code points; None without return_alignments, and for
                     pieces
    logits           float32 [pieces, vocabulary], a row for </s> too: see `TranslationResult`; None without
                     return_logits_vocab
    retried          it is from a second try: see the option `retry`

    If a text was translated in parts (sentences, or parts of sentences), `pieces` joins the pieces of all parts and
    `log_prob` adds them up, with one </s> for each part. `score` is the mean of the parts' scores, weighted by their
    source pieces. `text` also contains the text between the parts, which has no pieces.
    """

    text: str
    score: float
    log_prob: float
    truncated: bool
    pieces: tuple[str, ...]
    token_log_probs: tuple[float, ...] | None = None
    attention_parts: tuple[npt.NDArray[np.float32], ...] | None = field(default=None, compare=False)
    spans: tuple[Span, ...] | None = field(default=None, compare=False)
    _parts: tuple[SentencePart, ...] = field(default=(), compare=False)  # empty: the whole text is one sentence
    logits: npt.NDArray[np.float32] | None = field(default=None, compare=False)
    _inner: tuple[tuple[str, Hypothesis], ...] = field(default=(), compare=False)  # texts in markup: see `sentences_of`
    retried: bool = False

    @property
    def attention(self) -> npt.NDArray[np.float32] | None:
        """Joins the parts to one float32 [pieces, source pieces]; its size grows with the square of the text."""
        return None if self.attention_parts is None else whole_matrix(self.attention_parts)

    @property
    def alignments(self) -> list[tuple[int, int]] | None:
        """Pairs (source piece, target piece), ascending: each target piece with the source piece it attends to most."""
        return None if self.attention_parts is None else hard_alignment(self.attention_parts)

    @property
    def repeats(self) -> bool:
        """Whether a sentence looks like a loop of the same or nearly the same pieces: see `repetition`."""
        if not (self._parts or self._inner):
            return repeats(self.pieces)
        return any(part.translation.repeats for part in self._parts) or any(one.repeats for _, one in self._inner)

    def to_dict(self) -> dict[str, Any]:
        """Returns the hypothesis as JSON can hold it.

        Keys: text, score, log_prob, truncated, repeats, pieces and, if they were requested, token_log_probs and
        alignments (a list of [source piece, target piece]); retried if it is True. Minus infinity, which JSON lacks,
        becomes None.
        """
        found: dict[str, Any] = {
            "text": self.text,
            "score": finite(self.score),
            "log_prob": finite(self.log_prob),
            "truncated": self.truncated,
            "repeats": self.repeats,
            "pieces": list(self.pieces),
        }
        if self.token_log_probs is not None:
            found["token_log_probs"] = [finite(value) for value in self.token_log_probs]
        if self.alignments is not None:
            found["alignments"] = [list(pair) for pair in self.alignments]
        if self.retried:
            found["retried"] = True
        return found

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Hypothesis({_told(self)})"


class FindsDoubts(Protocol):
    """A finder of doubts: `sentence_layers.judge.Judge`."""

    def doubts(self, source: str, best: Hypothesis) -> tuple[DoubtName, ...]:
        """Returns the doubts about the translation of a sentence."""
        ...


def _told(best: Hypothesis) -> str:
    text = best.text if len(best.text) <= _SHOWN else f"{best.text[:_SHOWN]}..."
    return f"{text!r}, score={best.score:.4g}" + (", truncated=True" if best.truncated else "")


@dataclass(frozen=True, slots=True, repr=False)
class Result:
    """The translations of one text, best first. Its attributes include those of the best translation.

    source_pieces          as counted by alignments, without </s>; None without return_alignments
    source_spans           begin and end of each in the text, in code points; None as `source_pieces`
    num_source_pieces      number of translated pieces
    num_source_characters  length of the text; 0 if it was given as pieces
    glossary               the use of the glossary's terms in the best translation; None without a glossary
    """

    hypotheses: tuple[Hypothesis, ...]
    source_pieces: tuple[str, ...] | None = None
    source_spans: tuple[Span, ...] | None = field(default=None, compare=False)
    num_source_pieces: int = 0
    num_source_characters: int = field(default=0, compare=False)
    glossary: GlossaryUse | None = None
    _source: str = field(default="", compare=False)
    _judge: FindsDoubts | None = field(default=None, compare=False)

    @property
    def text(self) -> str:
        """The best translation."""
        return self.hypotheses[0].text

    @property
    def score(self) -> float:
        """The score of the best translation: see `Hypothesis`."""
        return self.hypotheses[0].score

    @property
    def log_prob(self) -> float:
        """The log-probability of the best translation: the sum over its pieces, </s> included."""
        return self.hypotheses[0].log_prob

    @property
    def truncated(self) -> bool:
        """Whether the length limit cut off the best translation."""
        return self.hypotheses[0].truncated

    @property
    def pieces(self) -> tuple[str, ...]:
        """The pieces of the best translation, without </s>."""
        return self.hypotheses[0].pieces

    @property
    def token_log_probs(self) -> tuple[float, ...] | None:
        """The log-probability of each piece of the best translation; None without return_token_log_probs."""
        return self.hypotheses[0].token_log_probs

    @property
    def attention(self) -> npt.NDArray[np.float32] | None:
        """The attention of the best translation, float32 [pieces, source pieces]; None without return_alignments."""
        return self.hypotheses[0].attention

    @property
    def alignments(self) -> list[tuple[int, int]] | None:
        """Pairs (source piece, target piece) of the best translation, ascending; None without return_alignments."""
        return self.hypotheses[0].alignments

    @property
    def repeats(self) -> bool:
        """Whether the best translation looks like a loop: see `Hypothesis.repeats`."""
        return self.hypotheses[0].repeats

    @property
    def retried(self) -> bool:
        """Whether a sentence of the best translation is from a second try: see the option `retry`."""
        return self.hypotheses[0].retried

    @property
    def doubts(self) -> tuple[DoubtName, ...]:
        """What is probably wrong with the best translation; found when it is read, in some microseconds.

        truncated  the length limit cut a sentence off
        loop       a sentence repeats itself, and its source does not
        echo       a sentence has most words of its source, so it is probably not translated
        script     most letters of a sentence are not of the target language's script
        length     a sentence is more than twice as long as its source, or less than half as long
        numbers    a sentence lacks a number of its source
        kept       a sentence lacks a part of its source that all languages keep: an address, a placeholder

        Always in this order; empty for a translation without doubts, and for a source given as pieces.
        """
        return () if self._judge is None else doubts_of(self._source, self.hypotheses[0], self._judge)

    @property
    def doubts_by_sentence(self) -> tuple[tuple[DoubtName, ...], ...]:
        """The doubts about each of `sentences`; with html or xml, about each sentence in the markup."""
        if self._judge is None:
            return ()
        return tuple(self._judge.doubts(*pair) for pair in sentences_of(self._source, self.hypotheses[0]))

    def judged(self, source: str, judge: FindsDoubts) -> Result:
        """Returns this result as that of the text `source`, whose doubts `judge` finds.

        A new result is completed in place, because a copy takes a microsecond. One from a cache already has its text.
        """
        if self._judge is None:
            object.__setattr__(self, "_source", source)
            object.__setattr__(self, "_judge", judge)
        if (self._source, self._judge) == (source, judge):
            return self
        return replace(self, _source=source, _judge=judge)

    @property
    def sentences(self) -> tuple[Sentence, ...]:
        """The sentences of the text, in order, with their best translations; text without letters is not a sentence."""
        best = self.hypotheses[0]
        if best._parts:
            return tuple(part.sentence() for part in best._parts)
        if not self.num_source_pieces:
            return ()
        return (SentencePart((0, self.num_source_characters), (0, len(best.text)), best, self.source_spans).sentence(),)

    @property
    def num_sentences(self) -> int:
        """The number of `sentences`."""
        return len(self.hypotheses[0]._parts) or bool(self.num_source_pieces)

    def to_dict(self) -> dict[str, Any]:
        """Returns the result as JSON can hold it: `json.dumps(result.to_dict())`.

        Keys: those of the best translation, see `Hypothesis.to_dict`; source_pieces, if alignments were requested;
        sentences, a list, see `Sentence.to_dict`; glossary, if one was given, see `GlossaryUse.to_dict`; alternatives,
        a list of the other translations with the keys of the best.
        """
        best, *others = [hypothesis.to_dict() for hypothesis in self.hypotheses]
        best["sentences"] = [sentence.to_dict() for sentence in self.sentences]
        if self.source_pieces is not None:
            best["source_pieces"] = list(self.source_pieces)
        if self.glossary is not None:
            best["glossary"] = self.glossary.to_dict()
        return {**best, "alternatives": others}

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        count = len(self.hypotheses)
        return f"Result({_told(self.hypotheses[0])}{f', hypotheses={count}' if count > 1 else ''})"

    def _repr_html_(self) -> str | None:
        """Shows the attention as a table in notebooks; returns None without return_alignments."""
        if self.source_pieces is None or self.attention is None:
            return None
        with LOCK:
            from cpunmt.results.attention_table import attention_table
        return attention_table(self.text, self.source_pieces, self.pieces, self.attention)


@dataclass(frozen=True, slots=True, repr=False)
class TranslationResult:
    """The translations of one sentence, best first, in CTranslate2's shape.

    hypotheses  pieces of each translation; there are `num_hypotheses`. If the search found fewer, the last is repeated;
                alternatives are not repeated
    scores      length-normalized score of each; empty without return_scores
    attention   lists [pieces][source pieces] of each; empty without return_attention
    logits      float32 array [pieces, vocabulary] of each: the values before the softmax that chose each piece and the
                </s> at the end; `-inf` if the shortlist excludes a piece. An ensemble has log-probabilities. Empty
                without return_logits_vocab; comparisons ignore them
    """

    hypotheses: list[list[str]]
    scores: list[float] = field(default_factory=list)
    attention: list[list[list[float]]] = field(default_factory=list)
    logits: list[npt.NDArray[np.float32]] = field(default_factory=list, compare=False)

    def __len__(self) -> int:
        return len(self.hypotheses)

    def __getitem__(self, index: int) -> dict[str, Any]:
        """Returns hypothesis `index` as a dict, as in old versions of CTranslate2."""
        found: dict[str, Any] = {"tokens": self.hypotheses[index]}
        if self.scores:
            found["score"] = self.scores[index]
        if self.attention:
            found["attention"] = self.attention[index]
        return found

    def to_dict(self) -> dict[str, Any]:
        """Returns the fields as JSON can hold them, without `logits`; minus infinity becomes None."""
        return {
            "hypotheses": [list(pieces) for pieces in self.hypotheses],
            "scores": [finite(score) for score in self.scores],
            "attention": self.attention,
        }

    def __repr__(self) -> str:
        """Leaves out empty fields, and shows only the size of the attention."""
        scores = f", scores={_rounded(self.scores)}" if self.scores else ""
        sizes = ", ".join(f"{len(rows)} x {len(rows[0]) if rows else 0}" for rows in self.attention)
        attention = f", attention=[{sizes}]" if self.attention else ""
        return f"TranslationResult(hypotheses={self.hypotheses!r}{scores}{attention})"


def _rounded(values: Sequence[float]) -> str:
    return f"[{', '.join(f'{value:.4g}' for value in values)}]"


@dataclass(frozen=True, slots=True, repr=False)
class ScoringResult:
    """The probability of a given translation.

    tokens     its pieces, </s> included
    log_probs  log-probability of each; minus infinity for a piece outside the requested vocabulary
    log_prob   their sum
    score      length-normalized, as of a Hypothesis
    """

    tokens: list[str]
    log_probs: list[float]
    log_prob: float
    score: float

    def to_dict(self) -> dict[str, Any]:
        """Returns the fields as JSON can hold them; minus infinity becomes None."""
        return {
            "tokens": list(self.tokens),
            "log_probs": [finite(value) for value in self.log_probs],
            "log_prob": finite(self.log_prob),
            "score": finite(self.score),
        }

    def __repr__(self) -> str:
        return f"ScoringResult(tokens={self.tokens!r}, log_probs={_rounded(self.log_probs)}, score={self.score:.4g})"


@dataclass(frozen=True, slots=True)
class GenerationStepResult:
    """One piece of a translation, yielded by `generate_tokens`.

    step           its index in the translation, counted from 0
    batch_id       0: there is one sentence
    token_id       its id in the target vocabulary
    hypothesis_id  0: there is one translation
    token          the piece; the last one is </s>
    log_prob       its log-probability; None without return_log_prob
    is_last        whether it is the last piece
    logits         always None
    """

    step: int
    batch_id: int
    token_id: int
    hypothesis_id: int
    token: str
    log_prob: float | None
    is_last: bool
    logits: None = None

    def to_dict(self) -> dict[str, Any]:
        """Returns the fields as JSON can hold them; minus infinity becomes None."""
        return {**asdict(self), "log_prob": None if self.log_prob is None else finite(self.log_prob)}


@dataclass(frozen=True, slots=True)
class ExecutionStats:
    """The work of `translate_file` or `score_file`: target pieces (of the best translations), sentences,
    milliseconds."""

    num_tokens: int
    num_examples: int
    total_time_in_ms: float

    def to_dict(self) -> dict[str, Any]:
        """Returns the fields."""
        return asdict(self)


def translation_result(result: Result, options: Options) -> TranslationResult:
    """Converts a result to CTranslate2's shape: repeats the last of `num_hypotheses` if the search found fewer, but
    never an alternative."""
    found = list(result.hypotheses)
    if not options.return_alternatives:
        found += found[-1:] * (options.num_hypotheses - len(found))
    return TranslationResult(
        [list(hypothesis.pieces) for hypothesis in found],
        [hypothesis.score for hypothesis in found] if options.return_scores else [],
        [list(matrix_rows(hypothesis.attention_parts or ())) for hypothesis in found]
        if options.return_alignments
        else [],
        [hypothesis.logits for hypothesis in found if hypothesis.logits is not None],
    )


def doubts_of(source: str, best: Hypothesis, judge: FindsDoubts) -> tuple[DoubtName, ...]:
    """Returns the doubts about all sentences of a text together."""
    if not (best._parts or best._inner):  # most texts, in half the time
        return judge.doubts(source, best)
    found = {name for pair in sentences_of(source, best) for name in judge.doubts(*pair)}
    return tuple(name for name in DOUBTS if name in found)


def sentences_in_markup(best: Hypothesis) -> tuple[tuple[str, Hypothesis], ...]:
    """Returns the sentences in markup with their translations; none if the text is plain."""
    return best._inner


def sentences_of(text: str, best: Hypothesis) -> Iterator[tuple[str, Hypothesis]]:
    """Yields each sentence of a text or of markup with its translation, which has text, scores and pieces."""
    if best._inner:
        yield from best._inner
        return
    if not best._parts:
        yield text, best
    for part in best._parts:
        one = part.translation
        made = Hypothesis(one.text, one.score, one.log_prob, one.truncated, one.pieces)
        yield text[slice(*part.source)], made
