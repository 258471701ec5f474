"""Every architecture: random ones against their definition, in float32. The laws: tests/test_laws_of_models.py."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.engine.engine import Search
from quantize.reference.network import Reference
from tests.definitions.beam_search import beam_search
from tests.sample_models.random_models import engine_of, random_sources, random_tensors
from tests.sample_models.transformers import NAMED, configs, make_config

NEAR = 2e-3  # two hypotheses of nearly equal score; gates by table are off by 1e-6, which deep random models multiply


def compare(config, seed, search):
    """Translations of six sentences by engine and definition; returns how many are not the same."""
    tensors = random_tensors(config, seed)
    reference, engine = Reference(config, tensors), engine_of(config, tensors)
    sources = random_sources(seed, config.source_size, 6, longest=30)
    made = engine.translate(sources, [10] * len(sources), search)
    different = 0
    for source, hypotheses in zip(sources, made, strict=True):
        expected = beam_search(reference, source, 10, search)
        different += [h.ids for h in hypotheses] != [e.ids for e in expected]
        for hypothesis, wanted in zip(hypotheses, expected, strict=True):
            assert abs(hypothesis.score - wanted.score) < NEAR
            if hypothesis.ids == wanted.ids:
                assert np.allclose(hypothesis.token_log_probs, wanted.token_log_probs, atol=NEAR)
                assert np.allclose(hypothesis.attention, wanted.attention, atol=1e-3)
    return different


@pytest.mark.parametrize("name", NAMED)
def test_a_named_architecture_equals_its_definition(name):
    config = make_config(**NAMED[name])
    assert sum(compare(config, seed, Search(3, 3, token_log_probs=True, attention=True)) for seed in range(3)) <= 1


@given(configs(), st.integers(0, 2**32 - 1), st.integers(1, 4))
@settings(deadline=None, max_examples=25)
def test_any_architecture_equals_its_definition(config, seed, beam):
    assert compare(config, seed, Search(beam, beam, token_log_probs=True, attention=True)) <= 1
