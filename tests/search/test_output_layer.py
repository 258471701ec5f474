"""One output layer for the joint candidates of all sentences: the same bits as separate layers."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cpunmt.engine.run
from cpunmt.model.config import MOST_BEAM
from cpunmt.simd import tile_shapes
from tests.sample_models.random_models import engine_of, random_checkpoint, random_shortlist, random_sources
from tests.support.searches import bits, searches, work

VOCAB = 331  # a mixture has several panels, and the last is not full


@pytest.fixture(scope="module")
def models():
    """Returns {scheme: (config, tensors, shortlist)}; the shortlists have few candidates, so that sentences differ."""
    config, tensors = random_checkpoint(11, d=64, f=64, heads=2, enc=1, dec=2, vocab=VOCAB)
    return config, tensors, random_shortlist(5, VOCAB)


def engine(models, scheme, shared):
    """Makes an engine whose workspaces share an output layer, or do not, for any instruction set and beam."""
    config, tensors, shortlist = models
    made = engine_of(config, tensors, scheme, shortlist=shortlist)
    inner = made._workspace

    def workspace(size):
        before, tile_shapes.TOGETHER = tile_shapes.TOGETHER, MOST_BEAM * shared
        try:
            return inner(size)
        finally:
            tile_shapes.TOGETHER = before

    made._workspace = workspace
    return made


@given(st.integers(0, 2**32 - 1), searches(), st.integers(1, 40), st.sampled_from([None, 2, 5, 16]), st.booleans())
@settings(deadline=None, max_examples=60)
def test_sharing_changes_no_bit(models, seed, search, count, slots, with_prefix):
    sources, limits, prefixes = work(seed, VOCAB, count, with_prefix)  # prefixes are mostly outside the candidates
    shared, apart = (engine(models, "int8", choice) for choice in (True, False))
    made = shared.translate(sources, limits, search, prefixes, slots)
    assert bits(made) == bits(apart.translate(sources, limits, search, prefixes, slots))
    if slots != 2 and count > 1:
        assert [w.record["together"][0] for w in shared._workspaces.values()] == [1]
    assert [w.record["together"][0] for w in apart._workspaces.values()] == [0]


@pytest.mark.parametrize("budget", [1, 7])
def test_a_call_may_stop_while_slots_are_filled(monkeypatch, models, budget):
    """Sentences that begin between two compiled calls have their candidates in the next step's layer."""
    sources, limits = random_sources(6, VOCAB, 30, longest=12), [11] * 30
    expected = bits(engine(models, "int8", False).translate(sources, limits))
    monkeypatch.setattr(cpunmt.engine.run, "BUDGET", budget)
    monkeypatch.setattr(cpunmt.engine.run, "LONGEST_CALL", 0)  # keeps the budget
    assert bits(engine(models, "int8", True).translate(sources, limits, slots=4)) == expected


def test_a_workspace_may_serve_a_smaller_call_and_one_over_the_whole_vocabulary(models):
    shared, apart = (engine(models, "int8", choice) for choice in (True, False))
    for count in (20, 1, 3):
        sources, limits = random_sources(count, VOCAB, count, longest=9), [8] * count
        assert bits(shared.translate(sources, limits)) == bits(apart.translate(sources, limits))


@pytest.mark.parametrize("scheme", ["float32", "int16"])
def test_other_schemes_keep_a_layer_for_each_sentence(models, scheme):
    shared = engine(models, scheme, True)
    shared.translate(random_sources(1, VOCAB, 40, longest=9), [8] * 40)
    assert [w.record["together"][0] for w in shared._workspaces.values()] == [0]
    assert [w.size.slots for w in shared._workspaces.values()] == [16]  # they do not use matrix registers
