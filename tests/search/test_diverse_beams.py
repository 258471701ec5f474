"""Groups of a beam that avoid each other. test_beam compares other options with the definition."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.search.settings import Search
from tests.definitions.beam_search import beam_search
from tests.sample_models.random_models import engine_of, random_checkpoint, random_sources
from tests.support.searches import bits, check_first_group, work

VOCAB, EOS = 96, 0
PENALTIES = st.sampled_from([0.1, 0.5, 2.0, 50.0])


@st.composite
def groups_of_beams(draw):
    """Draws a search with several groups, mostly of several hypotheses."""
    groups, size = draw(st.integers(2, 4)), draw(st.integers(1, 3))
    return Search(
        beam_size=groups * size,
        num_hypotheses=groups * size,
        num_beam_groups=groups,
        diversity_penalty=draw(PENALTIES),
        patience=draw(st.sampled_from([0.0, 0.5, 1.0, 2.0])),
        length_penalty=draw(st.sampled_from([0.0, 1.0])),
        end_pieces=draw(st.sampled_from([(), tuple(range(2, 40, 3))])),
        stepwise=draw(st.booleans()),
    )


@given(st.integers(0, 2**32 - 1), groups_of_beams(), st.booleans(), st.booleans())
@settings(deadline=None, max_examples=40)
def test_equals_its_definition(model, seed, search, with_shortlist, with_prefix):
    reference, plain, listed, shortlist = model
    sources, limits, prefixes = work(seed, VOCAB, 4, most=2 if with_prefix else 0)
    made = (listed if with_shortlist else plain).translate(sources, limits, search, prefixes)
    different = 0
    for source, limit, prefix, hypotheses in zip(sources, limits, prefixes, made, strict=True):
        candidates = shortlist.candidates(source, True) if with_shortlist else None
        expected = beam_search(reference, source, limit, search, candidates, prefix)
        different += [h.ids for h in hypotheses] != [h.ids for h in expected]
        assert len({tuple(h.ids) for h in hypotheses}) == len(hypotheses) <= search.num_hypotheses
        scores = [h.score for h in hypotheses]
        assert scores == sorted(scores, reverse=True)
    assert different <= 1  # a near tie


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), PENALTIES, st.sampled_from([0.0, 1.0]))
@settings(deadline=None, max_examples=20)
def test_the_first_group_is_a_beam_of_its_size(model, seed, size, penalty, patience):
    _, engine, listed, _ = model
    sources = random_sources(seed, VOCAB, 6, longest=9)
    for one in (engine, listed):
        alone = Search(beam_size=size, patience=patience, token_log_probs=True)
        check_first_group(one, sources, alone, diversity_penalty=penalty)


def test_groups_say_what_others_do_not(model):
    """With a large penalty, every group of one has its own piece at every step."""
    _, engine, _, _ = model
    sources = random_sources(3, VOCAB, 20, longest=9)
    search = Search(beam_size=4, num_hypotheses=4, num_beam_groups=4, diversity_penalty=100.0, min_length=6)
    several = 0
    for hypotheses in engine.translate(sources, [8] * 20, search):
        for step in range(8):
            said = [h.ids[step] for h in hypotheses if step < len(h.ids) and h.ids[step] != EOS]
            assert len(set(said)) == len(said)
            several += len(said) == 4
    assert several > 40
    plain = engine.translate(sources, [8] * 20, Search(beam_size=4, num_hypotheses=4))
    assert any(len({h.ids[0] for h in hypotheses}) < 4 for hypotheses in plain)


def test_scores_are_the_models(model):
    _, engine, _, _ = model
    sources = random_sources(3, VOCAB, 20, longest=9)
    search = Search(beam_size=4, num_hypotheses=4, num_beam_groups=2, diversity_penalty=3.0, token_log_probs=True)
    for source, hypotheses in zip(sources, engine.translate(sources, [8] * 20, search), strict=True):
        for h in hypotheses:
            forced = engine.translate([source], [len(h.ids)], Search(token_log_probs=True), [h.ids])[0][0]
            assert (h.token_log_probs, h.log_prob, h.score) == (forced.token_log_probs, forced.log_prob, forced.score)


@given(st.integers(0, 2**32 - 1), groups_of_beams())
@settings(deadline=None, max_examples=15)
def test_company_changes_nothing(model, seed, search):
    _, engine, listed, _ = model
    sources = random_sources(seed, VOCAB, 30, longest=20)
    limits = [len(source) + 3 for source in sources]
    for one in (engine, listed):
        together = bits(one.translate(sources, limits, search))
        assert together == [bits(one.translate([s], [m], search))[0] for s, m in zip(sources, limits, strict=True)]


def test_a_model_that_gives_no_numbers_still_says_something():
    config, tensors = random_checkpoint(7, d=32, f=64, heads=2, enc=1, dec=1, vocab=VOCAB)
    engine = engine_of(config, tensors | {"output.bias": np.full_like(tensors["output.bias"], np.nan)})
    for patience in (0.0, 1.0):
        search = Search(beam_size=4, num_hypotheses=4, num_beam_groups=2, diversity_penalty=1.0, patience=patience)
        assert all(engine.translate(random_sources(3, VOCAB, 5), [6] * 5, search))
