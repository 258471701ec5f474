"""Fused output: the bits of stepwise output, for all searches; and greedy search without log-probabilities."""

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.kernels.records import BLOCK
from cpunmt.search.settings import GREEDY
from tests.sample_models import real_model
from tests.sample_models.random_models import engine_of, random_checkpoint, random_shortlist
from tests.support.searches import bits, searches, work
from tests.support.speeds import slow_after

VOCAB = 3 * BLOCK + 37  # the last block is not full, nor is its last panel


@pytest.fixture(scope="module")
def models():
    config, tensors = random_checkpoint(12, d=64, f=64, heads=2, enc=1, dec=1, vocab=VOCAB)
    return config, tensors, random_shortlist(6, VOCAB, first=BLOCK - 20, most=60)


@pytest.fixture(scope="module")
def engines(models):
    """Returns (scheme, with a shortlist) -> an engine."""
    config, tensors, shortlist = models
    kinds = itertools.product(("int8", "int16", "float32", "log4"), (None, shortlist))
    return {(kind[0], kind[1] is not None): engine_of(config, tensors, *kind) for kind in kinds}


@given(
    st.integers(0, 2**32 - 1),
    searches(),
    st.sampled_from(["int8", "int16", "float32", "log4"]),
    st.booleans(),
    st.integers(1, 30),
    st.sampled_from([None, 1, 3]),
    st.booleans(),
)
@settings(deadline=None, max_examples=100)
def test_equals_the_stepwise_way(engines, seed, search, scheme, listed, count, slots, with_prefix):
    sources, limits, prefixes = work(seed, VOCAB, count, with_prefix)
    engine = engines[scheme, listed]
    made = engine.translate(sources, limits, search, prefixes, slots)
    assert bits(made) == bits(engine.translate(sources, limits, search._replace(stepwise=True), prefixes, slots))


@pytest.mark.parametrize("scheme", slow_after(1, ["int8", "float32"]))
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("beam", [1, 5])
def test_of_real_sentences(scheme, full, beam):
    engine, sources = real_model.engine(scheme), real_model.sources(120)
    limits, search = [3 * len(source) for source in sources], GREEDY._replace(beam_size=beam, full=full)
    made = engine.translate(sources, limits, search)
    assert bits(made) == bits(engine.translate(sources, limits, search._replace(stepwise=True)))
    unscored = engine.translate(sources, limits, search._replace(scored=False))
    assert [[h.ids for h in found] for found in unscored] == [[h.ids for h in found] for found in made]
    assert all(math.isnan(h.score) and math.isnan(h.log_prob) for found in unscored for h in found)


def test_log_probabilities_are_not_made_where_nothing_needs_them():
    assert not GREEDY._replace(scored=False).normalized
    for changes in ({"beam_size": 2}, {"token_log_probs": True}, {"patience": 2.0}, {"stepwise": True}):
        assert GREEDY._replace(scored=False, **changes).normalized
