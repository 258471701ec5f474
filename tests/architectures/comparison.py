"""An engine beside its definition: translations of random sentences by random models."""

import numpy as np

from quantize.reference.network import Reference
from tests.definitions.beam_search import beam_search
from tests.sample_models.random_models import engine_of, random_sources, random_tensors

NEAR = 2e-3  # two hypotheses of nearly equal score; gates by table are off by 1e-6, which deep random models multiply
NEAR_PIECE = 1e-2  # of one piece: an LSTM with layer norms makes 6e-4 of weights that are off by 1e-6; 2.3e-3 was seen


def compare(config, seed, search, **switches):
    """Translations of six sentences by engine and definition; returns how many are not the same.

    `switches` of a recurrent network: see its `switch`.
    """
    tensors = random_tensors(config, seed)
    reference, engine = Reference(config, tensors), engine_of(config, tensors)
    if switches:
        engine.model.network.switch(**switches)
    sources = random_sources(seed, config.source_size, 6, longest=30)
    made = engine.translate(sources, [10] * len(sources), search)
    different = 0
    for source, hypotheses in zip(sources, made, strict=True):
        expected = beam_search(reference, source, 10, search)
        different += [h.ids for h in hypotheses] != [e.ids for e in expected]
        for hypothesis, wanted in zip(hypotheses, expected, strict=True):
            assert abs(hypothesis.score - wanted.score) < NEAR
            if hypothesis.ids == wanted.ids:
                assert np.allclose(hypothesis.token_log_probs, wanted.token_log_probs, atol=NEAR_PIECE)
                assert np.allclose(hypothesis.attention, wanted.attention, atol=1e-3)
    return different
