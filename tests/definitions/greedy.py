"""Defines greedy search over the reference network, in NumPy, for comparison with the compiled search."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from quantize.reference.network import Reference


class Translation(NamedTuple):
    """A translation by `greedy`."""

    ids: list[int]  # with the final end-of-sentence id, unless truncated
    log_prob: float
    truncated: bool  # the length limit was reached before the end of sentence


def log_softmax(x):
    """Returns the log-softmax of each row."""
    shifted = x - x.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def greedy(
    reference: Reference, source: Sequence[int], candidates=None, max_length_factor: float | None = None
) -> Translation:
    """Chooses the most probable token at every step (on a tie the lowest id), until the end of sentence.

    `source` ends with the end-of-sentence id; if it is empty before that, the translation is this id, at
    log-probability 0. `candidates` (sorted ids, normally with the end of sentence) restricts the softmax. The unknown
    id is barred after the log-softmax, so it keeps its share of the probability, unless the model may output it. The
    limit is ceil(max_length_factor * len(source)) tokens; the default factor is the config's.
    """
    config = reference.config
    if list(source) == [config.eos_id]:
        return Translation([config.eos_id], 0.0, False)
    vocabulary = np.arange(config.vocab_size) if candidates is None else np.asarray(candidates)
    barred = -1 if config.replace_unknowns else config.unk_id
    factor = config.max_length_factor if max_length_factor is None else max_length_factor
    state, ids, log_prob = reference.start(reference.encode(source)), [], 0.0
    while len(ids) < math.ceil(factor * len(source)):
        logits, state = reference.step(state, ids[-1:], candidates)
        log_probs = log_softmax(logits[0])
        best = int(np.argmax(np.where(vocabulary == barred, -np.inf, log_probs)))
        ids.append(int(vocabulary[best]))
        log_prob += float(log_probs[best])
        if ids[-1] == config.eos_id:
            return Translation(ids, log_prob, False)
    return Translation(ids, log_prob, True)
