"""Defines beam search in NumPy over the reference network, for comparison with the compiled search.

It is Marian's search. Each step takes the best continuations of all live hypotheses, by the sum of their
log-probabilities. Hypotheses that end leave, and the beam shrinks by them. The search is over when the beam is empty,
or when the length limit cuts off the rest. <unk> is barred after the log-softmax.

For several models, an ensemble, the log-probability of a piece is the weighted sum of theirs, and so is the attention.

Translations that are searched apart, samples and alternatives, begin with drawn pieces or the best ones, behind the
prefix; each continues with one piece at a time.

The prompt of a search is said before each translation. Its log-probability is 0, and its pieces count.

A beam of groups is several beams, one after the other at each step. A group ranks continuations by their sum, less the
diversity penalty for each hypothesis of an earlier group with the same piece at this step; penalties stay.
"""

from collections.abc import Sequence

import numpy as np

from cpunmt.engine.engine import Hypothesis
from cpunmt.search.settings import GREEDY, Search
from quantize.reference.network import Reference
from tests.definitions.greedy import log_softmax
from tests.definitions.restrictions import forbidden, penalized
from tests.definitions.sampling import chance, drawn


class Models:
    """The models of a search: pairs of a Reference and its weight."""

    def __init__(self, models, source):
        self._models = models
        self._states = [reference.start(reference.encode(source)) for reference, _ in models]

    def step(self, said, candidates, vocabulary, penalty):
        """Returns (log-probabilities, attention) of each row, whose pieces so far are `said`."""
        log_probs, attention = 0.0, 0.0
        previous = [ids[-1] if ids else 0 for ids in said]
        for number, (reference, weight) in enumerate(self._models):
            logits, self._states[number] = reference.step(self._states[number], previous, candidates)
            if penalty != 1:
                rows = zip(logits, said, strict=True)
                logits = np.stack([penalized(row, vocabulary, ids, penalty) for row, ids in rows])
            log_probs = log_probs + weight * log_softmax(logits)
            attention = attention + weight * self._states[number].alignment
        return log_probs, attention

    def keep(self, rows):
        """Continues with these rows."""
        self._states = [state.rows(rows) for state in self._states]


def beam_search(
    reference: Reference | Sequence[tuple[Reference, float]],
    source: Sequence[int],
    limit: int,
    search: Search = GREEDY,
    candidates=None,
    prefix=(),
) -> list[Hypothesis]:
    """Returns the best `search.num_hypotheses` translations of one sentence, the best first.

    Parameters
    ----------
    reference : a model, or several and the weight of each
    source : ids with the final end-of-sentence id
    limit : maximum number of ids, the end of sentence included
    candidates : sorted ids that may be chosen; None: all
    prefix : ids that every translation begins with, at most `limit`; one outside the candidates gets log-probability
        minus infinity, which the ranking leaves out
    """
    models = [(reference, 1.0)] if isinstance(reference, Reference) else reference
    config = models[0][0].config
    vocabulary = np.arange(config.vocab_size) if candidates is None else np.asarray(candidates)
    prompt, words = len(search.prompt), len(source)
    source, prefix = [*search.source_begin, *source, *search.source_finish], [*search.prompt, *prefix]
    limit += prompt
    searching = Models(models, source)
    # ids, sum, log-probabilities, attention rows, number if apart, (group, its penalties) if there are groups
    live, ended = [([], 0.0, [], [], None)], []
    ends_with = np.isin(vocabulary, [config.eos_id, *search.end_pieces])
    free = search.prefix_bias_beta > 0  # a prefix is only encouraged
    for step in range(limit):
        said = [ids for ids, *_ in live]
        log_probs, attention = searching.step(said, candidates, vocabulary, search.repetition_penalty)
        allowed = log_probs.copy()
        if search.prefix_bias_beta and prompt <= step < len(prefix) and prefix[step] in vocabulary:
            for row, ids in enumerate(said):
                if ids == list(prefix[:step]):
                    favoured = search.prefix_bias_beta * (vocabulary == prefix[step])
                    log_probs[row] = np.log((1 - search.prefix_bias_beta) * np.exp(log_probs[row]) + favoured)
            allowed = log_probs.copy()
        if step < prompt or (step < len(prefix) and not search.prefix_bias_beta):
            chosen = [(0, int(np.searchsorted(vocabulary, prefix[step])), prefix[step], None)]
        else:
            if not config.replace_unknowns:
                allowed[:, vocabulary == config.unk_id] = -np.inf
            if step < search.min_length + prompt:
                allowed[:, vocabulary == config.eos_id] = -np.inf
                allowed[:, np.isin(vocabulary, search.end_pieces)] = -np.inf
            for row, ids in enumerate(said):
                allowed[row, np.isin(vocabulary, forbidden(ids, search))] = -np.inf
                restricted = search.no_repeat_ngram_size or search.suppressed or search.end_pieces
                if restricted and not np.isfinite(allowed[row]).any():
                    allowed[row, vocabulary == config.eos_id] = log_probs[row, vocabulary == config.eos_id]
            if search.apart:
                places = list(_apart(source, allowed, [number for *_, number in live], step, search))
            elif search.num_beam_groups > 1:
                places = list(_of_groups(live, ended, allowed, ends_with, step + 1 == limit, search))
            else:
                sums = np.array([total for _, total, *_ in live])[:, None] + allowed
                order = np.argsort(-sums, axis=None, kind="stable")
                places = [(*np.unravel_index(i, sums.shape), None) for i in order if np.isfinite(sums.flat[i])]
                if search.patience:
                    places = _of_full_beam(places, ends_with | (step + 1 == limit), search.beam_size)
                else:
                    places = places[: search.beam_size - len(ended)]
            chosen = [(row, column, int(vocabulary[column]), number) for row, column, number in places]
        following, rows = [], []
        for row, column, piece, number in chosen:
            ids, total, parts, attended, _ = live[row]
            inside = column < len(vocabulary) and vocabulary[column] == piece
            log_prob = float(log_probs[row, column]) if inside else -np.inf
            if step < prompt:
                log_prob, inside = 0.0, True
            total += log_prob if inside else 0.0
            hypothesis = ([*ids, piece], total, [*parts, log_prob], [*attended, attention[row]], number)
            ends = piece == config.eos_id or (piece in search.end_pieces and (free or step >= len(prefix)))
            if ends or step + 1 == limit:
                ended.append(hypothesis)
            else:
                following.append(hypothesis)
                rows.append(row)
        if search.num_beam_groups > 1 and search.patience:
            over = [_ended_of(ended, g) >= search.most_ended / search.num_beam_groups for g in range(search.beam_size)]
            kept = [i for i, (*_, number) in enumerate(following) if number is None or not over[number[0]]]
            following, rows = [following[i] for i in kept], [rows[i] for i in kept]
        searching.keep(rows)
        live = following
        of_one_beam = search.patience and search.num_beam_groups == 1
        if not live or (of_one_beam and len(ended) >= search.most_ended):
            break
    if search.num_beam_groups > 1:
        ended = _best_of_groups(ended, search, config.eos_id)
    begun = prompt if free else len(prefix)
    made = [_hypothesis(search, *hypothesis[:4], config.eos_id, begun) for hypothesis in ended]
    made.sort(key=lambda ranked: -ranked[0])
    first = len(search.source_begin)
    return [
        h._replace(
            ids=h.ids[prompt:],
            token_log_probs=h.token_log_probs[prompt:],
            attention=h.attention[prompt:, first : first + words],
        )
        for _, h in made[: search.num_hypotheses]
    ]


def _of_full_beam(places, ending, beam):
    """Returns, best first, the ending places among the first `beam`, and the first `beam` places that do not end."""
    going_on = [place for place in places if not ending[place[1]]][:beam]
    kept = [place for place in places[:beam] if ending[place[1]]] + going_on
    return sorted(kept, key=places.index)


def _ended_of(ended, group):
    return sum(number is not None and number[0] == group for *_, number in ended)


def _best_of_groups(ended, search, eos):
    """Returns the best of each group, by their scores less the penalties; duplicates between groups count once."""
    most = (search.most_ended if search.patience else search.beam_size) // search.num_beam_groups
    ranks = []
    for hypothesis in ended:
        ids, *_, of = hypothesis
        penalties = 0 if of is None else of[1] / len(ids) ** search.length_penalty
        ranks.append(_hypothesis(search, *hypothesis[:4], eos, 0)[0] - penalties)
    groups = {None if of is None else of[0] for *_, of in ended}
    best = set()
    for group in groups:
        own = [i for i, (*_, of) in enumerate(ended) if group == (None if of is None else of[0])]
        best |= set(sorted(own, key=lambda i: -ranks[i])[:most])
    found = {}
    for i in sorted(best):
        found.setdefault(tuple(ended[i][0]), ended[i])
    return list(found.values())


def _of_groups(live, ended, allowed, ends_with, last, search):
    """Yields (row, column, (group, penalties)) of each hypothesis that continues or ends, group by group."""
    groups = search.num_beam_groups
    size, others = search.beam_size // groups, np.zeros(allowed.shape[1])
    for group in range(groups):
        added = search.diversity_penalty * others
        totals = np.full(allowed.shape, -np.inf)
        for row, (_, total, _, _, number) in enumerate(live):
            if number is None or number[0] == group:
                totals[row] = total + allowed[row] - added - (0 if number is None else number[1])
        order = np.argsort(-totals, axis=None, kind="stable")
        places = [np.unravel_index(i, totals.shape) for i in order if np.isfinite(totals.flat[i])]
        if search.patience:
            places = _of_full_beam(places, ends_with | last, size)
        else:
            places = places[: size - _ended_of(ended, group)]
        for row, column in places:
            before = live[row][4]
            yield row, column, (group, added[column] + (0 if before is None else before[1]))
        for _, column in places:
            others[column] += not ends_with[column]


def _apart(source, allowed, numbers, step, search):
    """Yields (row, column, number of the translation) of each separate translation that continues."""
    for row, number in enumerate(numbers):
        some = range(search.beam_size) if number is None else [number]
        if search.sampling:
            yield from ((row, drawn(allowed[row], search, chance(source, search, n, step)), n) for n in some)
            continue
        for n, column in zip(some, np.argsort(-allowed[row], kind="stable"), strict=False):
            likely = np.exp(allowed[row, column]) >= search.min_alternative_expansion_prob
            if np.isfinite(allowed[row, column]) and (n == 0 or number is not None or likely):
                yield row, column, n


def _hypothesis(search, ids, total, parts, attended, eos, begun):
    """Returns (the ranking score, Hypothesis)."""
    attention, prompt = np.array(attended), len(search.prompt)
    coverage = np.log(np.clip(attention[prompt:].sum(axis=0), 1e-10, 1.0)).sum()
    score = (total - search.word_penalty * len(ids)) / len(ids) ** search.length_penalty
    score += search.coverage_penalty * float(coverage)
    outside = -np.inf in parts
    told = (-np.inf, -np.inf) if outside else (total, score)
    ends = ids[-1] == eos or (ids[-1] in search.end_pieces and len(ids) > begun)
    return score, Hypothesis(ids, *told, not ends, parts, attention)
