"""The pieces of a translation as they are found: CTranslate2's `generate_tokens`, and `callback` of its calls."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from cpunmt.engine.engine import Engine, Hypothesis
from cpunmt.engine.search import Search
from cpunmt.text.piece_vocabulary import AnyVocabulary
from cpunmt.translation.batching import Part, cut_sentences
from cpunmt.translation.calls import Settings
from cpunmt.translation.joining import TranslateParts
from cpunmt.translation.loading import LoadedModel
from cpunmt.translation.options import Options
from cpunmt.translation.results import GenerationStepResult

Callback = Callable[[GenerationStepResult], bool]

# Options of a greedy search that pieces are told of before it ends.
GENERATING = (
    *("repetition_penalty", "no_repeat_ngram_size", "suppress_sequences", "end_token", "disable_unk"),
    *("sampling_topk", "sampling_topp", "sampling_temperature", "seed"),
    *("vocabulary", "min_length", "max_length_factor", "max_length", "max_input_length"),
)


def generated_pieces(
    model: LoadedModel, settings: Settings, ids: list[int], prefix: list[int], with_log_prob: bool
) -> Iterator[GenerationStepResult]:
    """Each piece when it is found, </s> at the end; those of a text that is split one part after the other.

    Parameters
    ----------
    ids : the source's, with </s>; of a blank one nothing comes but what is forced, which is impossible
    prefix : the ids that the translation begins with
    """
    vocabulary, options = model.target_vocabulary, settings.options
    parts = cut_sentences([ids], [prefix], options, model.config, model.source_vocabulary)
    search = _one(settings.search)
    step = 0
    some: Sequence[Part | None] = parts or [None]
    for part in some:
        last = part is None or part is parts[-1]
        found = _forced(prefix) if part is None else model.engine.pieces(part.ids, part.limit, search, part.prefix)
        limit = len(prefix) if part is None else part.limit
        begun = limit if part is None else len(part.prefix)
        for place, (id_, log_prob) in enumerate(found, 1):
            is_over = place > begun and id_ in search.end_pieces  # of all that is split
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


def _one(search: Search) -> Search:
    """The search of one hypothesis, of which nothing is told but its pieces."""
    search = search._replace(beam_size=1, num_hypotheses=1, patience=0.0, return_alternatives=False)
    return search._replace(token_log_probs=False, attention=False, coverage_penalty=0.0)


def told_parts(
    vocabulary: AnyVocabulary, numbers: Sequence[int], callback: Callback, with_log_prob: bool
) -> TranslateParts:
    """What translates parts one after the other, and tells each piece; a sentence ends where `callback` returns True.

    What has been found is searched again, with all of it as a prefix: the same bits, and all that is asked for.

    Parameters
    ----------
    vocabulary : the target's
    numbers : of each sentence, what is told as its `batch_id`
    """

    def translate(engine: Engine, parts: list[Part], options: Options, search: Search) -> list[list[Hypothesis]]:
        last = {part.sentence: part for part in parts}
        steps: Counter[int] = Counter()
        found: list[list[Hypothesis]] = []
        stopped = set()
        for part in parts:
            if part.sentence in stopped:
                found.append([])
                continue
            said: list[int] = []
            is_over = False
            for id_, log_prob in engine.pieces(part.ids, part.limit, _one(search), part.prefix):
                said.append(id_)
                is_over = len(said) > len(part.prefix) and id_ in search.end_pieces
                is_end, is_last = id_ == vocabulary.eos_id, is_over or part is last[part.sentence]
                if is_end and not is_last:
                    break
                (piece,) = vocabulary.pieces([id_])
                step, number = steps[part.sentence], numbers[part.sentence]
                ended = is_over or (is_last and (is_end or len(said) == part.limit))
                value = log_prob if with_log_prob else None
                steps[part.sentence] += 1
                if callback(GenerationStepResult(step, number, id_, 0, piece, value, ended)):
                    stopped.add(part.sentence)
                    break
            again = engine.translate([part.ids], [len(said)], search, [said])
            if is_over:  # what is forced ends nothing
                stopped.add(part.sentence)
                again = [[hypothesis._replace(truncated=False) for hypothesis in again[0]]]
            found += again
        return found

    return translate


def _forced(prefix: list[int]) -> Iterator[tuple[int, float]]:
    return ((id_, -math.inf) for id_ in prefix)
