"""A model's opinion of a given translation: the piece that it would choose at each place, and probabilities.

The choice at a place is that of greedy search after the pieces before it. Asking for each place alone would take a
translation per piece. But a search that is forced to begin with some pieces and goes on alone as given has made the
right choice at every place up to the first one that differs; there it is put right, and searches on. So a sentence
costs one translation, and one more for each place where the model disagrees.
"""

from collections.abc import Sequence
from typing import Any

from cpunmt.decoding.batching import SourcePart, search_parts
from cpunmt.engine.engine import Engine, Hypothesis
from cpunmt.engine.search import Search
from cpunmt.options.options import Options


def choices(
    engine: Engine,
    sources: Sequence[list[int]],
    targets: Sequence[list[int]],
    options: Options,
    known: Sequence[list[int]] | None = None,
) -> list[list[int]]:
    """For each place t of a target, the best piece after targets[:t] (<unk> is barred, as always).

    Parameters
    ----------
    sources : ids, each with its </s>, as the model reads them: reversed where it was trained so
    targets : ids in the order in which the model says them; </s> nowhere but at the end
    options : which vocabulary they choose from, and how much is translated at once; the others are not for this
    known : what greedy search makes of the sources, if the caller has it: saves the first translation
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
    """Returns the log probability of each piece of the targets; `-inf` if it is no candidate. Parameters: see above."""
    search = Search(full=options.vocabulary == "full", token_log_probs=True)
    scored = forced(engine, sources, targets, [len(target) for target in targets], options, search)
    return [hypothesis.token_log_probs or [] for hypothesis in scored]


def forced(
    engine: Engine, sources: Any, prefixes: Any, limits: Sequence[int], options: Options, search: Search
) -> list[Hypothesis]:
    """The best translation of each source that begins with its prefix and has at most `limit` pieces."""
    parts = [SourcePart(0, *part) for part in zip(sources, prefixes, limits, strict=True)]
    return [hypotheses[0] for hypotheses in search_parts(engine, parts, options, search)]


def _agreed(ids: Any, target: Any) -> Any:
    """`ids` up to and including the first that differs from the target's, and not more than the target has."""
    differing = (place for place, (ours, theirs) in enumerate(zip(ids, target, strict=False)) if ours != theirs)
    return ids[: min(next(differing, len(target)) + 1, len(target))]
