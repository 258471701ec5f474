"""CTranslate2's `generate_tokens`: the pieces of a translation as they are found."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from cpunmt.translation.batching import Part, cut_sentences
from cpunmt.translation.calls import Settings
from cpunmt.translation.loading import LoadedModel
from cpunmt.translation.results import GenerationStepResult

# Options of a greedy search that pieces are told of before it ends.
GENERATING = (
    *("repetition_penalty", "no_repeat_ngram_size", "suppress_sequences", "disable_unk"),
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
    search = settings.search._replace(beam_size=1, num_hypotheses=1, patience=0.0, return_alternatives=False)
    search = search._replace(token_log_probs=False, attention=False, coverage_penalty=0.0)
    step = 0
    some: Sequence[Part | None] = parts or [None]
    for part in some:
        last = part is None or part is parts[-1]
        found = _forced(prefix) if part is None else model.engine.pieces(part.ids, part.limit, search, part.prefix)
        limit = len(prefix) if part is None else part.limit
        for place, (id_, log_prob) in enumerate(found, 1):
            is_end = id_ == vocabulary.eos_id
            if last or not is_end:
                (piece,) = vocabulary.pieces([id_])
                said = log_prob if with_log_prob else None
                yield GenerationStepResult(step, 0, id_, 0, piece, said, last and (is_end or place == limit))
                step += 1


def _forced(prefix: list[int]) -> Iterator[tuple[int, float]]:
    return ((id_, -math.inf) for id_ in prefix)
