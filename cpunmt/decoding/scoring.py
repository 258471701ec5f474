"""Scores a given translation: a forced search, returned as a ScoringResult."""

import math
from collections.abc import Sequence

from cpunmt.decoding.batching import SourcePart, translate_parts
from cpunmt.decoding.call_settings import Settings
from cpunmt.decoding.loading import LoadedModel
from cpunmt.engine.engine import Hypothesis
from cpunmt.process.stopping import SharedWork
from cpunmt.results.results import ScoringResult
from cpunmt.search.settings import Search

Ids = list[int]
LONGEST = 4096  # pieces of a source or target: attention costs their product


def score_pairs(
    model: LoadedModel,
    settings: Settings,
    sources: list[Ids],
    targets: list[Ids],
    offset: int,
    shared: SharedWork | None = None,
    named: Sequence[Search] | None = None,
) -> list[ScoringResult]:
    """Returns the results of pairs of id lists, both with </s>; skips the first `offset` pieces of each target.

    Parameters
    ----------
    shared : knows which pairs were cancelled; they may have any result
    named : None, or for each pair the search whose pieces of languages it has
    """
    options, search, *_ = settings
    search = search._replace(
        beam_size=1, num_beam_groups=1, num_hypotheses=1, min_length=0, token_log_probs=True, attention=False
    )
    search = search._replace(
        repetition_penalty=1.0, end_pieces=(), sampling_topk=1, prefix_bias_beta=0.0
    )  # the model's own log-probabilities
    most = options.max_input_length
    parts = []
    for number, (source, target) in enumerate(zip(sources, targets, strict=True)):
        if most and len(source) - 1 > most:
            source = [*source[:most], source[-1]]
        if len(source) > 1:
            parts.append(SourcePart(number, source, target, len(target), None if named is None else named[number]))
    found: list[Hypothesis | None] = [None] * len(sources)
    for part, hypotheses in zip(parts, translate_parts(model.engine, parts, options, search, shared), strict=True):
        found[part.sentence] = hypotheses[0] if hypotheses else None
    tokens = model.target_vocabulary.pieces
    return [scoring_result(tokens(t), h, settings, offset) for t, h in zip(targets, found, strict=True)]


def refuse_long(name: str, number: int, ids: list[int]) -> None:
    """Raises ValueError if item `number` of `name` is too long to be scored, because scoring does not split."""
    if len(ids) > LONGEST:
        raise ValueError(
            f"{name} {number} (counted from 0) has {len(ids) - 1} pieces, expected at most {LONGEST - 1}: "
            "what is scored is not split; split source and target at the same place"
        )


def scoring_result(tokens: list[str], found: Hypothesis | None, settings: Settings, offset: int) -> ScoringResult:
    """Makes the result of one pair. `tokens`: the target's pieces, with </s>; `found`: its forced translation.

    A blank source has only the empty translation: that is certain, all others are impossible.
    """
    if found:
        log_probs, log_prob, score = found.token_log_probs or [], found.log_prob, found.score
    else:
        log_probs = [-math.inf] * (len(tokens) - 1) + [0.0]
        log_prob = score = sum(log_probs)
    if offset:
        covered = 0.0  # the penalty's part of the score, which is of the whole translation
        if found and settings.options.coverage_penalty:
            covered = score - _normalized(log_prob, len(log_probs), settings)
        tokens, log_probs = tokens[offset:], log_probs[offset:]
        log_prob = math.fsum(log_probs) if -math.inf not in log_probs else -math.inf
        score = _normalized(log_prob, len(log_probs), settings) + covered if log_probs else 0.0
    return ScoringResult(tokens, log_probs, log_prob, score)


def _normalized(log_prob: float, pieces: int, settings: Settings) -> float:
    options = settings.options
    length = pieces + len(settings.search.prompt)  # the piece of a language counts, as in a search
    return float((log_prob - options.word_penalty * length) / length**options.length_penalty)
