"""Forced decoding: a model's choice at each place of a given translation, and probabilities, of all pieces too.

The choice at a place is greedy search's after the pieces before it. A search for each place would cost a translation
per piece. But a greedy search that is forced to begin with a prefix makes the right choice at every place up to its
first difference from the target; a new search continues from the corrected prefix. So a sentence costs one translation,
and one more for each place where the model disagrees.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from cpunmt.decoding.batching import SourcePart, search_parts
from cpunmt.engine.engine import Engine, Hypothesis
from cpunmt.options.options import Options
from cpunmt.search.settings import Search

_SENTENCES = 32  # whose distributions are in memory at once


def choices(
    engine: Engine,
    sources: Sequence[list[int]],
    targets: Sequence[list[int]],
    options: Options,
    known: Sequence[list[int]] | None = None,
) -> list[list[int]]:
    """Returns for each place t of a target the best piece after targets[:t] (<unk> is barred, as always).

    Parameters
    ----------
    sources : ids, each with its </s>, in the model's order: reversed if it was trained so
    targets : ids in the model's order; </s> only at the end
    options : the vocabulary, and the sizes of batches; others are ignored
    known : the greedy translations of the sources, if the caller has them: saves the first translation
    """
    made: list[list[int]] = [[] for _ in targets]
    search = Search(full=options.vocabulary == "full")
    waiting = list(range(len(targets)))
    found = [list(ids) for ids in known] if known is not None else None
    while True:
        if found is not None:
            for i, ids in zip(waiting, found, strict=True):
                made[i] += _agreed(ids, targets[i][len(made[i]) :])
        waiting = [i for i in waiting if len(made[i]) < len(targets[i])]
        if not waiting:
            return made
        prefixes = [targets[i][: len(made[i])] for i in waiting]
        hypotheses = forced(
            engine, [sources[i] for i in waiting], prefixes, [len(targets[i]) for i in waiting], options, search
        )
        found = [hypothesis.ids[len(prefix) :] for hypothesis, prefix in zip(hypotheses, prefixes, strict=True)]


def log_probs(
    engine: Engine, sources: Sequence[list[int]], targets: Sequence[list[int]], options: Options
) -> list[list[float]]:
    """Returns the log probability of each piece of the targets; `-inf` for no candidate. Parameters: see above."""
    search = Search(full=options.vocabulary == "full", token_log_probs=True)
    scored = forced(engine, sources, targets, [len(target) for target in targets], options, search)
    return [hypothesis.token_log_probs or [] for hypothesis in scored]


def log_distributions(
    engine: Engine,
    sources: Sequence[list[int]],
    targets: Sequence[list[int]],
    prompts: Sequence[tuple[int, ...]],
) -> Iterator[np.ndarray]:
    """Yields for each target the log probabilities of all pieces at each place, float32 [places, vocabulary].

    Parameters: see above. `prompts`: the pieces of a language that begin each target; their places are left out.
    """
    search = Search(full=True, token_log_probs=True, vocab_logits=True)
    for begin in range(0, len(targets), _SENTENCES):
        part = slice(begin, begin + _SENTENCES)
        limits = [len(target) for target in targets[part]]
        made = engine.translate(sources[part], limits, search, targets[part])
        for (found,), prompt in zip(made, prompts[part], strict=True):
            assert found.logits is not None
            logits = found.logits[len(prompt) :]
            logits -= logits.max(axis=1, keepdims=True)
            yield logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))


def forced(
    engine: Engine, sources: Any, prefixes: Any, limits: Sequence[int], options: Options, search: Search
) -> list[Hypothesis]:
    """Returns the best translation of each source that begins with its prefix and has at most `limit` pieces."""
    parts = [SourcePart(0, *part) for part in zip(sources, prefixes, limits, strict=True)]
    return [hypotheses[0] for hypotheses in search_parts(engine, parts, options, search)]


def _agreed(ids: Any, target: Any) -> Any:
    """Returns `ids` up to and including the first difference from the target, and not longer than the target."""
    differing = (place for place, (ours, theirs) in enumerate(zip(ids, target, strict=False)) if ours != theirs)
    return ids[: min(next(differing, len(target)) + 1, len(target))]
