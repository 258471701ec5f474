"""Turns the engine's hypotheses into results: joins ids to text, and parts to sentences."""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np

from cpunmt.decoding.batching import SourcePart, best_places, cut_sentences, translate_parts
from cpunmt.decoding.call_settings import Settings
from cpunmt.decoding.loading import LoadedModel
from cpunmt.decoding.splitting import joined
from cpunmt.engine import engine
from cpunmt.options.options import Options
from cpunmt.process.first_use import LOCK
from cpunmt.process.stopping import check
from cpunmt.results.results import FindsDoubts, Hypothesis, Result
from cpunmt.results.sentence import SentencePart, shifted
from cpunmt.search.settings import Search
from cpunmt.text.vocabularies.piece_spans import Span
from cpunmt.text.vocabularies.piece_vocabulary import AnyVocabulary

T = TypeVar("T")
TranslateParts = Callable[[engine.Engine, list[SourcePart], Options, Search], list[list[engine.Hypothesis]]]


class Source(NamedTuple):
    """The source of a sentence, as its result describes it.

    characters  length of the text; None for pieces
    pieces      without </s>; None if not needed
    spans       span of each piece in the text; None for pieces, or without alignments
    judged      the text and the finder of its doubts, if they are known before the translation: see `Result.judged`
    """

    characters: int | None = None
    pieces: Sequence[str] | None = None
    spans: Sequence[Span] | None = None
    judged: tuple[str, FindsDoubts | None] = ("", None)


PIECES = Source()  # for sentences given as pieces, if nothing needs these


def translate_sentences(
    model: LoadedModel,
    settings: Settings,
    sentences: list[list[int]],
    prefixes: Sequence[list[int]],
    given: Sequence[str] | Sequence[list[str]],
    translate: TranslateParts = translate_parts,
    named: Sequence[Search] | None = None,
) -> list[Result]:
    """Returns the results of sentences, which are lists of ids, each with its </s>.

    Parameters
    ----------
    translate : callable that translates parts; returns an empty list for a skipped part. It may skip the first part of
        a sentence only if the sentence was cancelled; the result is then that of a blank sentence
    prefixes : target ids that the translation of each sentence begins with
    given : each sentence as the caller passed it: a text, or its pieces without </s>
    named : None, or for each sentence the search whose pieces of languages it has
    """
    options, search, *_ = settings
    vocabulary = model.target_vocabulary
    sources = [_source(model, source, settings) for source in given]
    parts = cut_sentences(sentences, prefixes, options, model.config, model.source_vocabulary)
    if named is not None:
        parts = [part._replace(named=named[part.sentence]) for part in parts]
    found: list[list[list[engine.Hypothesis]]] = [[] for _ in sentences]
    over = set()  # sentences that a part has ended: later parts are skipped
    lengths: list[list[int]] = [[] for _ in sentences]
    for part, hypotheses in zip(parts, translate(model.engine, parts, options, search), strict=True):
        if hypotheses and part.sentence not in over:
            size = part.size
            if options.rerank is not None:
                pieces = _known(sources[part.sentence], options, sum(lengths[part.sentence]), size)
                hypotheses = _reranked(hypotheses, vocabulary, pieces, options)
            if search.end_pieces and not hypotheses[0].truncated and hypotheses[0].ids[-1] in search.end_pieces:
                over.add(part.sentence)
            found[part.sentence].append(hypotheses)
            lengths[part.sentence].append(size)
    results = []
    for number, of_sentence in enumerate(found):
        if of_sentence:
            results.append(make_result(of_sentence, lengths[number], vocabulary, sources[number], options))
        else:
            blank = blank_result(prefixes[number], vocabulary, sources[number], options)
            if search.vocab_logits:
                none = np.zeros((0, model.config.vocab_size), np.float32)
                blank = replace(blank, hypotheses=(replace(blank.hypotheses[0], logits=none),))
            results.append(blank)
    return results


def _source(model: LoadedModel, given: str | list[str], settings: Settings) -> Source:
    if not settings.search.attention:
        return Source(len(given)) if isinstance(given, str) else PIECES
    check()  # texts may be long, and many
    if not isinstance(given, str):
        return Source(pieces=given)
    vocabulary = model.source_vocabulary
    spans = vocabulary.spans(given) if settings.options.return_alignments else None
    return Source(len(given), vocabulary.surfaces(given), spans)


def make_result(
    found: list[list[engine.Hypothesis]],
    lengths: list[int],
    vocabulary: AnyVocabulary,
    source: Source,
    options: Options,
) -> Result:
    """Makes the Result of a sentence. Its k-th translation joins the k-th hypothesis of each part, or the part's last.

    Parameters
    ----------
    found : hypotheses of each part, best first
    lengths : source pieces of each part, without </s>
    vocabulary : of the target
    """
    keep = options.return_alignments
    locate = keep and source.characters is not None
    end = options.return_end_token and source.characters is None
    if len(found) == 1:
        known = _known(source, options, 0, lengths[0])
        hypotheses = [_of_part(hypothesis, vocabulary, known, keep, locate, end) for hypothesis in found[0]]
    else:
        ends = list(itertools.accumulate(lengths))
        parts = [
            [
                _of_part(
                    hypothesis,
                    vocabulary,
                    _known(source, options, last - length, length),
                    keep,
                    locate,
                    end and some is found[-1],
                )
                for hypothesis in some
            ]
            for some, length, last in zip(found, lengths, ends, strict=True)
        ]
        ranks = range(max(map(len, parts)))
        check()  # there may be many parts
        hypotheses = [_joined([part[min(rank, len(part) - 1)] for part in parts], lengths) for rank in ranks]
    count = sum(lengths)
    text, judge = source.judged
    kept = tuple(source.pieces[:count]) if keep and source.pieces is not None else None
    spans = None if kept is None or source.spans is None else tuple(source.spans[:count])
    return Result(tuple(hypotheses), kept, spans, count, source.characters or 0, _source=text, _judge=judge)


def _known(source: Source, options: Options, begin: int, size: int) -> Sequence[str] | None:
    """Returns the source pieces of a part that may replace <unk>; None if nothing replaces it."""
    if source.pieces is None or not options.replace_unknowns:
        return None
    return source.pieces[begin : begin + size]


def _reranked(
    found: list[engine.Hypothesis], vocabulary: AnyVocabulary, source_pieces: Sequence[str] | None, options: Options
) -> list[engine.Hypothesis]:
    """Returns the reranked candidates of a part."""
    with LOCK:  # a process that never reranks starts without this module
        from cpunmt.decoding.reranking.bayes_risk import reranked
    check()  # there may be many candidates, and long ones
    texts = [_of_part(hypothesis, vocabulary, source_pieces, False, False, False).text for hypothesis in found]
    assert options.rerank is not None
    return reranked(found, texts, options.rerank, options.num_hypotheses)


def _of_part(
    found: engine.Hypothesis,
    vocabulary: AnyVocabulary,
    source_pieces: Sequence[str] | None,
    keep_attention: bool,
    locate: bool,
    keep_end: bool,
) -> Hypothesis:
    ids, log_prob, score, truncated, token_log_probs, attention, logits = found
    if not (truncated or keep_end):
        ids = ids[:-1]
    pieces = vocabulary.pieces(ids)
    if source_pieces and attention is not None and vocabulary.unk_id in ids:
        pieces = replaced(pieces, ids, vocabulary.unk_id, best_places(attention).tolist(), source_pieces)
        text = vocabulary.text_of(pieces)
    else:
        text = vocabulary.decode(ids)
    terms = None if token_log_probs is None else tuple(token_log_probs)
    kept = (attention[: len(ids), :-1],) if keep_attention and attention is not None else None  # </s> is left out
    spans = tuple(vocabulary.spans_in(text, pieces)) if locate else None
    return Hypothesis(text, score, log_prob, truncated, tuple(pieces), terms, kept, spans, logits=logits)


def replaced(
    pieces: list[str], ids: list[int], unk_id: int, best: list[int], source_pieces: Sequence[str]
) -> list[str]:
    """Returns `pieces`, with each unknown piece replaced by its `best` source piece."""
    return [
        source_pieces[best[place]] if id_ == unk_id else piece
        for place, (id_, piece) in enumerate(zip(ids, pieces, strict=True))
    ]


def _joined(parts: list[Hypothesis], lengths: list[int]) -> Hypothesis:
    texts = [part.text for part in parts]
    ends = itertools.accumulate(len(text) + (text != "") for text in texts)
    return joined_hypothesis(parts, joined(texts), [0, *ends], lengths)


def joined_hypothesis(
    parts: Sequence[Hypothesis],
    text: str,
    begins: Iterable[int],
    weights: Sequence[int],
    sentences: tuple[SentencePart, ...] = (),
) -> Hypothesis:
    """Joins the translations of the parts of a text, or of a sentence.

    Each rank has the same weights, so the mean of their scores keeps translations sorted.

    Parameters
    ----------
    text : their joined text
    begins : where the text of each part begins in it
    weights : of the score of each, its source pieces
    sentences : the parts, if they are sentences
    """
    first, scores = parts[0], [part.score for part in parts]
    if -math.inf in scores or not any(weights):
        score = min(scores)
    else:
        score = math.fsum(score * weight for score, weight in zip(scores, weights, strict=True)) / sum(weights)
    logits = [part.logits for part in parts if part.logits is not None]
    return Hypothesis(
        text,
        score,
        math.fsum(part.log_prob for part in parts),
        any(part.truncated for part in parts),
        chained(part.pieces for part in parts),
        None if first.token_log_probs is None else chained(part.token_log_probs or () for part in parts),
        None if first.attention_parts is None else chained(part.attention_parts or () for part in parts),
        None
        if first.spans is None
        else chained(
            [shifted(span, begin) for span in part.spans or ()] for part, begin in zip(parts, begins, strict=False)
        ),
        sentences,
        np.concatenate(logits) if logits else None,
        retried=any(part.retried for part in parts),
    )


def chained(parts: Iterable[Iterable[T]]) -> tuple[T, ...]:
    """Chains sequences."""
    return tuple(itertools.chain.from_iterable(parts))


def blank_result(prefix: list[int], vocabulary: AnyVocabulary, source: Source, options: Options) -> Result:
    """Makes the Result of a blank sentence: the empty translation is certain, so any forced piece is impossible."""
    ids = prefix[:-1] if prefix[-1:] == [vocabulary.eos_id] else prefix
    log_prob = -math.inf if ids else 0.0
    terms = (-math.inf,) * len(ids) + (0.0,) if options.return_token_log_probs else None
    if options.return_end_token and source.characters is None:
        ids = [*ids, vocabulary.eos_id]
    attention = (np.zeros((len(ids), 0), np.float32),) if options.return_alignments else None
    text, pieces = vocabulary.decode(ids), vocabulary.pieces(ids)
    keep, characters = options.return_alignments, source.characters
    located = keep and characters is not None
    spans = tuple(vocabulary.spans_in(text, pieces)) if located else None
    hypothesis = Hypothesis(text, log_prob, log_prob, False, tuple(pieces), terms, attention, spans)
    return Result((hypothesis,), () if keep else None, () if located else None, 0, characters or 0)
