"""Streams the pieces of a translation: CTranslate2's `generate_tokens`, and `callback` of its calls."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from cpunmt.decoding.batching import SourcePart, cut_sentences, search_parts
from cpunmt.decoding.call_settings import Settings
from cpunmt.decoding.joining import TranslateParts
from cpunmt.decoding.loading import LoadedModel
from cpunmt.engine.engine import Engine, Hypothesis
from cpunmt.engine.run import Step
from cpunmt.options.options import Options
from cpunmt.process.stopping import SharedWork
from cpunmt.results.results import GenerationStepResult
from cpunmt.search.settings import Search
from cpunmt.text.vocabularies.piece_vocabulary import AnyVocabulary

Callback = Callable[[GenerationStepResult], object]  # returns whether the sentence ends there


def generated_pieces(
    model: LoadedModel, settings: Settings, ids: list[int], prefix: list[int], with_log_prob: bool
) -> Iterator[GenerationStepResult]:
    """Yields each piece as it is chosen, </s> at the end; the parts of a long text follow one another.

    Parameters
    ----------
    ids : of the source, with </s>; a blank source yields only the forced pieces, which are impossible
    prefix : the ids that the translation begins with
    """
    vocabulary, options = model.target_vocabulary, settings.options
    parts = cut_sentences([ids], [prefix], options, model.config, model.source_vocabulary)
    search = one_hypothesis(settings.search, with_log_prob)
    step = 0
    some: Sequence[SourcePart | None] = parts or [None]
    for part in some:
        last = part is None or part is parts[-1]
        found = _forced(prefix) if part is None else model.engine.pieces(part.ids, part.limit, search, part.prefix)
        limit = len(prefix) if part is None else part.limit
        begun = limit if part is None else len(part.prefix)
        for place, (id_, log_prob) in enumerate(found, 1):
            if part is not None and place <= part.said:
                continue
            is_over = place > begun and id_ in search.end_pieces  # of the whole text, if it is split
            is_end = id_ == vocabulary.eos_id or is_over
            if last or is_over or not is_end:
                (piece,) = vocabulary.pieces([id_])
                said = log_prob if with_log_prob else None
                yield GenerationStepResult(
                    step, 0, id_, 0, piece, said, is_over or (last and (is_end or place == limit))
                )
                step += 1
            if is_over:
                return


def one_hypothesis(search: Search, scored: bool) -> Search:
    """Makes the search of one hypothesis, which reports only its pieces, and if `scored` their log-probabilities."""
    search = search._replace(beam_size=1, num_beam_groups=1, num_hypotheses=1, patience=0.0, return_alternatives=False)
    search = search._replace(token_log_probs=False, attention=False, vocab_logits=False, scored=scored)
    return search._replace(coverage_penalty=0.0)


def search_with_callback(
    vocabulary: AnyVocabulary,
    numbers: Sequence[int],
    callback: Callback,
    with_log_prob: bool,
    shared: SharedWork | None = None,
) -> TranslateParts:
    """Returns a callable that translates parts and reports each piece; a sentence ends where `callback` returns True.

    Sentences are reported in parallel, the parts of a sentence in sequence, and none after the sentence has ended.

    Parameters
    ----------
    vocabulary : of the target
    numbers : the `batch_id` of each sentence
    shared : knows which sentences were cancelled
    """

    def translate(engine: Engine, parts: list[SourcePart], options: Options, search: Search) -> list[list[Hypothesis]]:
        last = {part.sentence: part for part in parts}
        steps: Counter[int] = Counter()
        found: list[list[Hypothesis]] = [[] for _ in parts]
        ended: set[int] = set()
        for turn in _turns(parts):
            chosen = [i for i in turn if parts[i].sentence not in ended]
            lengths: Counter[int] = Counter()

            def tell(number: int, said: Step, chosen: list[int] = chosen, lengths: Counter[int] = lengths) -> bool:
                part = parts[chosen[number]]
                sentence = part.sentence
                lengths[sentence] += 1
                if lengths[sentence] <= part.said:
                    return False
                is_end = said.piece == vocabulary.eos_id
                is_over = lengths[sentence] > len(part.prefix) and said.piece in search.end_pieces
                if is_over:  # of the whole text, if it is split
                    ended.add(sentence)
                is_last = is_over or part is last[sentence]
                if is_end and not is_last:
                    return False
                (piece,) = vocabulary.pieces([said.piece])
                value = said.log_prob if with_log_prob else None
                step = GenerationStepResult(
                    steps[sentence], numbers[sentence], said.piece, 0, piece, value, is_last and said.is_last
                )
                steps[sentence] += 1
                if callback(step):
                    ended.add(sentence)
                return sentence in ended

            some = [parts[i] for i in chosen]
            made = search_parts(engine, some, options, search._replace(patience=0.0), shared, tell)
            for i, hypotheses in zip(chosen, made, strict=True):
                found[i] = hypotheses
                if not hypotheses:
                    ended.add(parts[i].sentence)
        return found

    return translate


def _turns(parts: list[SourcePart]) -> list[list[int]]:
    """Yields the numbers of the first parts of all sentences, then of the second parts, and so on."""
    counts: Counter[int] = Counter()
    turns: list[list[int]] = []
    for number, part in enumerate(parts):
        if counts[part.sentence] == len(turns):
            turns.append([])
        turns[counts[part.sentence]].append(number)
        counts[part.sentence] += 1
    return turns


def _forced(prefix: list[int]) -> Iterator[tuple[int, float]]:
    return ((id_, -math.inf) for id_ in prefix)
