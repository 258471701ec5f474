"""What the engine found, as results: ids to text, parts to sentences."""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np

from cpunmt.decoding.batching import Part, cut_sentences, translate_parts
from cpunmt.decoding.call_settings import Settings
from cpunmt.decoding.loading import LoadedModel
from cpunmt.decoding.splitting import joined
from cpunmt.engine import engine
from cpunmt.engine.search import Search
from cpunmt.options.options import Options
from cpunmt.process.first_use import LOCK
from cpunmt.process.stopping import check
from cpunmt.results.alignments import Matrix
from cpunmt.results.results import Hypothesis, Result
from cpunmt.text.piece_spans import Span, target_spans
from cpunmt.text.piece_vocabulary import AnyVocabulary

T = TypeVar("T")
TranslateParts = Callable[[engine.Engine, list[Part], Options, Search], list[list[engine.Hypothesis]]]


class Source(NamedTuple):
    """What results tell of a sentence's source.

    characters  how many it has; None: it was given as pieces
    pieces      without </s>; None if nothing has to know them
    spans       where each stands in the text; None if it was given as pieces, or alignments are not wanted
    """

    characters: int | None = None
    pieces: Sequence[str] | None = None
    spans: Sequence[Span] | None = None


PIECES = Source()  # given as pieces, which nothing has to know


def translate_sentences(
    model: LoadedModel,
    settings: Settings,
    sentences: list[list[int]],
    prefixes: Sequence[list[int]],
    given: Sequence[str] | Sequence[list[str]],
    translate: TranslateParts = translate_parts,
) -> list[Result]:
    """Results of sentences, which are id lists, each with its </s>.

    Parameters
    ----------
    translate : what gives the hypotheses of parts; none for a part that is left out, which is a sentence's first only
        if nobody wants that sentence: its result is that of a blank one then
    prefixes : for each sentence the target ids that its translation begins with
    given : each sentence as it was given: a text, or its pieces without </s>
    """
    options, search = settings
    vocabulary = model.target_vocabulary
    sources = [_source(model, source, settings) for source in given]
    parts = cut_sentences(sentences, prefixes, options, model.config, model.source_vocabulary)
    found: list[list[list[engine.Hypothesis]]] = [[] for _ in sentences]
    over = set()  # sentences of which a part has ended them, so that what follows is left out
    lengths: list[list[int]] = [[] for _ in sentences]
    for part, hypotheses in zip(parts, translate(model.engine, parts, options, search), strict=True):
        if hypotheses and part.sentence not in over:
            size = len(part.ids) - 1
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
    check()  # texts may be long, and many
    if not settings.search.attention:
        return Source(len(given)) if isinstance(given, str) else PIECES
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
    """The Result of a sentence. Its k-th translation joins the k-th of each part, or the last that a part has.

    Parameters
    ----------
    found : hypotheses of each part, best first
    lengths : source pieces of each part, without </s>
    vocabulary : the target's
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
        check()  # parts may be many
        hypotheses = [_joined([part[min(rank, len(part) - 1)] for part in parts], lengths) for rank in ranks]
    count = sum(lengths)
    if not keep or source.pieces is None:
        return Result(tuple(hypotheses), None, None, count, source.characters or 0)
    spans = None if source.spans is None else tuple(source.spans[:count])
    return Result(tuple(hypotheses), tuple(source.pieces[:count]), spans, count, source.characters or 0)


def _known(source: Source, options: Options, begin: int, size: int) -> Sequence[str] | None:
    """The source pieces of a part that <unk> may become; None: it becomes nothing."""
    if source.pieces is None or not options.replace_unknowns:
        return None
    return source.pieces[begin : begin + size]


def _reranked(
    found: list[engine.Hypothesis], vocabulary: AnyVocabulary, source_pieces: Sequence[str] | None, options: Options
) -> list[engine.Hypothesis]:
    """Of the candidates of a part those that are returned."""
    with LOCK:  # a process that does not ask for it starts without it
        from cpunmt.decoding.reranking.bayes_risk import reranked
    check()  # they may be many, and long
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
    if attention is not None:
        attention = attention[: len(ids), :-1]  # </s> is no piece of the results
    if source_pieces and attention is not None and vocabulary.unk_id in ids:
        pieces = replaced(pieces, ids, vocabulary.unk_id, attention, source_pieces)
        text = vocabulary.text_of(pieces)
    else:
        text = vocabulary.decode(ids)
    terms = None if token_log_probs is None else tuple(token_log_probs)
    kept = (attention,) if keep_attention and attention is not None else None
    spans = tuple(target_spans(pieces, text)) if locate else None
    return Hypothesis(text, score, log_prob, truncated, tuple(pieces), terms, kept, spans, logits=logits)


def replaced(
    pieces: list[str], ids: list[int], unk_id: int, attention: Matrix, source_pieces: Sequence[str]
) -> list[str]:
    """`pieces`, with the source piece that got most attention for each that is unknown."""
    best: list[int] = attention.argmax(1).tolist()
    return [
        source_pieces[best[place]] if id_ == unk_id else piece
        for place, (id_, piece) in enumerate(zip(ids, pieces, strict=True))
    ]


def _joined(parts: list[Hypothesis], lengths: list[int]) -> Hypothesis:
    """One of the whole. A mean of scores whose weights are the same for each rank keeps them sorted."""
    given = parts[0]
    score = math.fsum(part.score * length for part, length in zip(parts, lengths, strict=True)) / sum(lengths)
    return Hypothesis(
        joined([part.text for part in parts]),
        score,
        math.fsum(part.log_prob for part in parts),
        any(part.truncated for part in parts),
        _chained(part.pieces for part in parts),
        None if given.token_log_probs is None else _chained(part.token_log_probs or () for part in parts),
        None if given.attention_parts is None else _chained(part.attention_parts or () for part in parts),
        None if given.spans is None else tuple(_shifted(parts)),
        logits=_stacked([part.logits for part in parts]),
    )


def _stacked(parts: Sequence[Matrix | None]) -> Matrix | None:
    given = [part for part in parts if part is not None]
    return np.concatenate(given) if given else None


def _shifted(parts: list[Hypothesis]) -> Iterator[Span]:
    """Where the pieces of parts stand in their joined texts."""
    begin = 0
    for part in parts:
        yield from ((b + begin, e + begin) for b, e in part.spans or ())
        begin += len(part.text) + (part.text != "")


def _chained(tuples: Iterable[Iterable[T]]) -> tuple[T, ...]:
    return tuple(itertools.chain.from_iterable(tuples))


def blank_result(prefix: list[int], vocabulary: AnyVocabulary, source: Source, options: Options) -> Result:
    """The Result of a blank sentence: the empty translation is certain, so all that is forced is impossible."""
    ids = prefix[:-1] if prefix[-1:] == [vocabulary.eos_id] else prefix
    log_prob = -math.inf if ids else 0.0
    terms = (-math.inf,) * len(ids) + (0.0,) if options.return_token_log_probs else None
    if options.return_end_token and source.characters is None:
        ids = [*ids, vocabulary.eos_id]
    attention = (np.zeros((len(ids), 0), np.float32),) if options.return_alignments else None
    text, pieces = vocabulary.decode(ids), vocabulary.pieces(ids)
    keep, characters = options.return_alignments, source.characters
    located = keep and characters is not None
    spans = tuple(target_spans(pieces, text)) if located else None
    hypothesis = Hypothesis(text, log_prob, log_prob, False, tuple(pieces), terms, attention, spans)
    return Result((hypothesis,), () if keep else None, () if located else None, 0, characters or 0)
