"""Greedy and beam search of a batch of sentences over the steps of an `OnnxEngine`, by Marian's rules.

`tests.definitions.beam_search.beam_search` defines both. Greedy search computes no log-probabilities.
"""

import math

import numpy as np

from cpunmt.engine.engine import Hypothesis
from cpunmt.search.settings import Search

COMPACT = 0.8  # finished sentences leave the batch when at most this share is left


class Batch:
    """Sentences of a batch; the hypotheses of each are neighbouring rows."""

    def __init__(self, engine, sources, limits, full: bool):
        """`full`: choose from all pieces, even with a shortlist."""
        config = engine.model.config
        self._engine, self._eos, self._unk = engine, config.eos_id, config.unk_id
        self._limits = limits
        self._pieces = self._output = None  # the candidates, and their output layer
        if engine.shortlist is not None and not full:
            self._pieces = engine.shortlist.candidates(np.concatenate(sources), config.shared_vocabulary)
            self._output = engine.output_layer(self._pieces)
            places = np.flatnonzero(self._pieces == config.unk_id).tolist()
            self._unk = places[0] if places else None
        self._memory = engine.encode(sources)

    def greedy(self) -> list[list[Hypothesis]]:
        """Returns the translation of each sentence by the best piece at every step."""
        if len(self._limits) == 1:
            return [[self._told(self._greedy_alone())]]
        limits = np.array(self._limits)
        made, lengths = np.empty((limits.max(), len(limits)), np.int64), np.zeros_like(limits)
        live, over = np.arange(len(limits)), np.zeros(len(limits), bool)
        states, previous = self._engine.start(len(limits)), np.zeros(len(limits), np.int64)
        for step in range(len(made)):
            logits, states = self._engine.step(self._memory, states, previous, step, self._output)
            previous = made[step, live] = self._best(logits)
            ended = ((previous == self._eos) | (step + 1 == limits[live])) & ~over
            lengths[live[ended]] = step + 1
            over |= ended
            left = len(live) - np.count_nonzero(over)
            if left == 0:
                break
            if left <= COMPACT * len(live):
                kept = np.flatnonzero(~over)
                live, over, previous = live[kept], over[kept], previous[kept]
                states = _rows(states, kept)
                self._memory = _rows(self._memory, kept)
        return [[self._told(made[:length, i].tolist())] for i, length in enumerate(lengths)]

    def _greedy_alone(self):
        states, previous, ids = self._engine.start(1), np.zeros(1, np.int64), []
        for step in range(self._limits[0]):
            logits, states = self._engine.step(self._memory, states, previous, step, self._output)
            previous = self._best(logits)
            ids.append(int(previous[0]))
            if ids[-1] == self._eos:
                break
        return ids

    def _best(self, logits):
        best = logits.argmax(axis=1)
        if self._unk in best:
            logits[:, self._unk] = -np.inf
            best = logits.argmax(axis=1)
        return best if self._pieces is None else self._pieces[best].astype(np.int64)

    def _told(self, ids):
        return Hypothesis(ids, math.nan, math.nan, ids[-1] != self._eos, None, None)

    def beam(self, search: Search) -> list[list[Hypothesis]]:
        """Returns the hypotheses of a beam for each sentence, the best first."""
        width, count = search.beam_size, len(self._limits)
        live, paths, ended = np.arange(count), [[[]] for _ in range(count)], [[] for _ in range(count)]
        sums = np.full((count, width), -np.inf, np.float32)
        sums[:, 0] = 0
        states, previous = self._engine.start(count * width), np.zeros(count * width, np.int64)
        for step in range(max(self._limits)):
            logits, states = self._engine.step(self._memory, states, previous, step, self._output)
            totals = (_log_softmax(logits, self._unk) + sums.reshape(-1, 1)).reshape(len(live), -1)
            parents, previous = np.zeros((2, *sums.shape), np.int64)
            following = np.full_like(sums, -np.inf)
            for row, (sentence, found) in enumerate(zip(live, _largest(totals, width), strict=True)):
                longer = []
                for place in found[: width - len(ended[sentence])]:
                    total = totals[row, place]
                    if total == -np.inf:
                        break
                    parent, column = divmod(int(place), logits.shape[1])
                    piece = column if self._pieces is None else int(self._pieces[column])
                    path = [*paths[sentence][parent], piece]
                    if piece == self._eos or step + 1 == self._limits[sentence]:
                        ended[sentence].append((path, float(total)))
                    else:
                        slot = len(longer)
                        parents[row, slot], previous[row, slot], following[row, slot] = parent, piece, total
                        longer.append(path)
                paths[sentence] = longer
            kept = np.array([row for row, sentence in enumerate(live) if paths[sentence]], np.int64)
            if len(kept) == 0:
                break
            if len(kept) > COMPACT * len(live):
                kept = np.arange(len(live))
            else:
                self._memory = _rows(self._memory, kept)
            states = _rows(states, (kept[:, None] * width + parents[kept]).ravel())
            live, sums, previous = live[kept], following[kept], previous[kept].ravel()
        return [_ranked(of_sentence, search, self._eos) for of_sentence in ended]


def _rows(arrays, chosen):
    return {name: array[chosen] for name, array in arrays.items()}


def _log_softmax(logits, barred):
    largest = logits.max(axis=1, keepdims=True)
    found = logits - (largest + np.log(np.exp(logits - largest).sum(axis=1, keepdims=True)))
    if barred is not None:
        found[:, barred] = -np.inf
    return found


def _largest(totals, count):
    """Returns the columns of the largest of each row, the largest first."""
    count = min(count, totals.shape[1])
    columns = np.argpartition(totals, -count, axis=1)[:, -count:]
    columns.sort(axis=1)  # the lowest first of equals
    order = np.argsort(-np.take_along_axis(totals, columns, axis=1), axis=1, kind="stable")
    return np.take_along_axis(columns, order, axis=1)


def _ranked(ended, search, eos):
    made = []
    for ids, total in ended:
        score = (total - search.word_penalty * len(ids)) / len(ids) ** search.length_penalty
        made.append(Hypothesis(ids, total, score, ids[-1] != eos, None, None))
    made.sort(key=lambda hypothesis: -hypothesis.score)
    return made[: search.num_hypotheses]
