"""What the engine found, as results: ids to text, parts to sentences."""

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import TypeVar

import numpy as np

from cpunmt.engine import engine
from cpunmt.text.piece_vocabulary import AnyVocabulary
from cpunmt.translation.alignments import Matrix
from cpunmt.translation.batching import cut_sentences, translate_parts
from cpunmt.translation.calls import Settings
from cpunmt.translation.loading import LoadedModel
from cpunmt.translation.options import Options
from cpunmt.translation.results import Hypothesis, Result
from cpunmt.translation.splitting import joined

T = TypeVar("T")


def translate_sentences(
    model: LoadedModel,
    settings: Settings,
    sentences: list[list[int]],
    prefixes: Sequence[list[int]],
    source_pieces: Sequence[list[str]] | None,
) -> list[Result]:
    """Results of sentences, which are id lists, each with its </s>.

    Parameters
    ----------
    prefixes : for each sentence the target ids that its translation begins with
    source_pieces : of each sentence, without </s>; None if the search keeps no attention
    """
    options, search = settings
    vocabulary = model.target_vocabulary
    parts = cut_sentences(sentences, prefixes, options, model.config, model.source_vocabulary)
    found: list[list[list[engine.Hypothesis]]] = [[] for _ in sentences]
    lengths: list[list[int]] = [[] for _ in sentences]
    for part, hypotheses in zip(parts, translate_parts(model.engine, parts, options, search), strict=True):
        found[part.sentence].append(hypotheses)
        lengths[part.sentence].append(len(part.ids) - 1)
    results = []
    for number, of_sentence in enumerate(found):
        if of_sentence:
            pieces = source_pieces[number] if source_pieces and search.attention else None
            results.append(make_result(of_sentence, lengths[number], vocabulary, pieces, options))
        else:
            results.append(blank_result(prefixes[number], vocabulary, options))
    return results


def make_result(
    found: list[list[engine.Hypothesis]],
    lengths: list[int],
    vocabulary: AnyVocabulary,
    source_pieces: list[str] | None,
    options: Options,
) -> Result:
    """The Result of a sentence. Its k-th translation joins the k-th of each part, or the last that a part has.

    Parameters
    ----------
    found : hypotheses of each part, best first
    lengths : source pieces of each part, without </s>
    vocabulary : the target's
    source_pieces : of the whole sentence, without </s>; None if nothing has to know them
    """
    known = source_pieces if options.replace_unknowns else None
    keep = options.return_alignments
    if len(found) == 1:
        hypotheses = [_of_part(hypothesis, vocabulary, known, keep) for hypothesis in found[0]]
    else:
        ends = list(itertools.accumulate(lengths))
        parts = [
            [_of_part(hypothesis, vocabulary, known and known[end - length : end], keep) for hypothesis in of_part]
            for of_part, length, end in zip(found, lengths, ends, strict=True)
        ]
        ranks = range(max(map(len, parts)))
        hypotheses = [_joined([part[min(rank, len(part) - 1)] for part in parts], lengths) for rank in ranks]
    if not keep or source_pieces is None:
        return Result(tuple(hypotheses))
    return Result(tuple(hypotheses), tuple(source_pieces[: sum(lengths)]))


def _of_part(
    found: engine.Hypothesis, vocabulary: AnyVocabulary, source_pieces: list[str] | None, keep_attention: bool
) -> Hypothesis:
    ids, log_prob, score, truncated, token_log_probs, attention = found
    if not truncated:
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
    return Hypothesis(text, score, log_prob, truncated, tuple(pieces), terms, kept)


def replaced(pieces: list[str], ids: list[int], unk_id: int, attention: Matrix, source_pieces: list[str]) -> list[str]:
    """`pieces`, with the source piece that got most attention for each that is unknown."""
    best = attention.argmax(1)
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
    )


def _chained(tuples: Iterable[Iterable[T]]) -> tuple[T, ...]:
    return tuple(itertools.chain.from_iterable(tuples))


def blank_result(prefix: list[int], vocabulary: AnyVocabulary, options: Options) -> Result:
    """The Result of a blank sentence: the empty translation is certain, so all that is forced is impossible."""
    ids = prefix[:-1] if prefix[-1:] == [vocabulary.eos_id] else prefix
    log_prob = -math.inf if ids else 0.0
    terms = (-math.inf,) * len(ids) + (0.0,) if options.return_token_log_probs else None
    attention = (np.zeros((len(ids), 0), np.float32),) if options.return_alignments else None
    hypothesis = Hypothesis(
        vocabulary.decode(ids), log_prob, log_prob, False, tuple(vocabulary.pieces(ids)), terms, attention
    )
    return Result((hypothesis,), () if options.return_alignments else None)
