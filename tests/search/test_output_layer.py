"""An output layer for common candidates of all sentences: the same bits as separate layers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import MonkeyPatch

import cpunmt.engine.run
from cpunmt.engine.engine import Engine
from cpunmt.engine.workspace import Member
from cpunmt.model.config import MOST_BEAM
from cpunmt.simd import tile_shapes
from tests.sample_models.random_models import engine_of, random_checkpoint, random_shortlist, random_sources
from tests.support.searches import bits, searches, work

VOCAB = 331  # a mixture has several panels, and the last is not full
NONE = 1.0  # common candidates
SIZES = {"d": 64, "f": 64, "heads": 2, "enc": 1, "dec": 2, "vocab": VOCAB}


@pytest.fixture(scope="module")
def models():
    """Returns {scheme: (config, tensors, shortlist)}; the shortlists have few candidates, so that sentences differ."""
    config, tensors = random_checkpoint(11, **SIZES)
    return config, tensors, random_shortlist(5, VOCAB)


def engine(models, scheme, share, second=None):
    """Makes an engine whose workspaces have this `common_share`, for any instruction set and beam.

    With the tensors of a second model both search together.
    """
    config, tensors, shortlist = models
    with MonkeyPatch.context() as patched:
        patched.setattr(tile_shapes, "TOGETHER", MOST_BEAM * (share < NONE))
        made = engine_of(config, tensors, scheme, shortlist=shortlist)
        if second:
            other = engine_of(config, second, scheme)
            made = Engine([Member(made.model, 0.75), Member(other.model, 0.25)], shortlist)
    inner = made._workspace

    def workspace(size):
        with MonkeyPatch.context() as patched:
            patched.setattr(tile_shapes, "COMMON_SHARE", share)
            return inner(size)

    made._workspace = workspace
    return made


@given(
    st.integers(0, 2**32 - 1),
    searches(),
    st.integers(1, 40),
    st.sampled_from([None, 2, 5, 16]),
    st.booleans(),
    st.sampled_from([0.0, 0.1, 0.4, 0.9]),
)
@settings(deadline=None, max_examples=60)
def test_sharing_changes_no_bit(models, seed, search, count, slots, with_prefix, share):
    sources, limits, prefixes = work(seed, VOCAB, count, with_prefix)  # prefixes are mostly outside the candidates
    shared, apart = (engine(models, "int8", choice) for choice in (share, NONE))
    made = shared.translate(sources, limits, search, prefixes, slots)
    assert bits(made) == bits(apart.translate(sources, limits, search, prefixes, slots))
    if slots != 2 and count > 1:
        assert [w.record["together"][0] for w in shared._workspaces.values()] == [1]
    assert [w.record["together"][0] for w in apart._workspaces.values()] == [0]


@given(st.integers(0, 2**32 - 1), searches(), st.integers(2, 20), st.sampled_from([0.0, 0.1, 0.4]))
@settings(deadline=None, max_examples=20)
def test_models_that_search_together(models, seed, search, count, share):
    sources, limits, prefixes = work(seed, VOCAB, count, False)
    _, second = random_checkpoint(12, **SIZES)
    shared, apart = (engine(models, "int8", choice, second) for choice in (share, NONE))
    made = shared.translate(sources, limits, search, prefixes)
    assert bits(made) == bits(apart.translate(sources, limits, search, prefixes))


@pytest.mark.parametrize("share", [0.0, 0.1, 0.4])
@pytest.mark.parametrize("budget", [1, 7])
def test_a_call_may_stop_while_slots_are_filled(monkeypatch, models, budget, share):
    """Sentences that begin between two compiled calls have their candidates in the next step's layer."""
    sources, limits = random_sources(6, VOCAB, 30, longest=12), [11] * 30
    expected = bits(engine(models, "int8", NONE).translate(sources, limits))
    monkeypatch.setattr(cpunmt.engine.run, "BUDGET", budget)
    monkeypatch.setattr(cpunmt.engine.run, "LONGEST_CALL", 0)  # keeps the budget
    assert bits(engine(models, "int8", share).translate(sources, limits, slots=4)) == expected


def test_a_workspace_may_serve_a_smaller_call_and_one_over_the_whole_vocabulary(models):
    shared, apart = (engine(models, "int8", choice) for choice in (0.4, NONE))
    for count in (20, 1, 3):
        sources, limits = random_sources(count, VOCAB, count, longest=9), [8] * count
        assert bits(shared.translate(sources, limits)) == bits(apart.translate(sources, limits))


@pytest.mark.parametrize(("longest", "common"), [(3, "most"), (20, "all")])
def test_all_candidates_are_common_if_there_is_no_room_for_the_others(models, longest, common):
    shared = engine(models, "int8", 0.9)
    sources = [[*np.random.default_rng(seed).integers(2, VOCAB, longest).tolist(), 0] for seed in range(16)]
    shared.translate(sources, [1] * 16)
    lists = np.concatenate(
        [shared.shortlist.candidates(source, shared.model.config.shared_vocabulary) for source in sources]
    )
    counts = np.unique(lists, return_counts=True)[1]
    (workspace,) = shared._workspaces.values()
    assert workspace.record["common"][0] == (len(counts) if common == "all" else np.sum(counts > 14))


@pytest.mark.parametrize("scheme", ["float32", "int16"])
def test_other_schemes_keep_a_layer_for_each_sentence(models, scheme):
    shared = engine(models, scheme, 0.4)
    shared.translate(random_sources(1, VOCAB, 40, longest=9), [8] * 40)
    assert [w.record["together"][0] for w in shared._workspaces.values()] == [0]
    assert [w.size.slots for w in shared._workspaces.values()] == [16]  # they do not use matrix registers
