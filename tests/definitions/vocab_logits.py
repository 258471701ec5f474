"""Defines the logits of a translation's pieces, in NumPy."""

from collections.abc import Sequence

import numpy as np

from quantize.reference.network import Reference
from tests.definitions.greedy import log_softmax
from tests.definitions.restrictions import penalized


def vocab_logits(
    reference: Reference | Sequence[tuple[Reference, float]],
    source: Sequence[int],
    ids: Sequence[int],
    candidates=None,
    penalty: float = 1.0,
) -> np.ndarray:
    """Returns float32 [ids, vocabulary]: logits before each of the ids, minus infinity outside the candidates.

    For several models, each with its weight, they are the weighted means of log-probabilities.
    """
    models = [(reference, 1.0)] if isinstance(reference, Reference) else reference
    size = models[0][0].config.vocab_size
    vocabulary = np.arange(size) if candidates is None else np.asarray(candidates)
    found = np.full((len(ids), size), -np.inf, np.float32)
    found[:, vocabulary] = 0
    for network, weight in models:
        state = network.start(network.encode(source))
        for step in range(len(ids)):
            logits, state = network.step(state, ids[step - 1 : step], candidates)
            row = penalized(logits[0], vocabulary, ids[:step], penalty) if penalty != 1 else logits[0]
            found[step, vocabulary] += row if isinstance(reference, Reference) else weight * log_softmax(row)
    return found
