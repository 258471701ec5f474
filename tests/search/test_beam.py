"""Beam search against its definition in NumPy, with all options, on tiny random models."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.architectures.families import family_of
from cpunmt.search.settings import Search
from tests.definitions.beam_search import beam_search
from tests.sample_models.random_models import engine_of, random_checkpoint, random_shortlist, random_sources
from tests.support.searches import agree, bits, searches, tagged, watch_calls, work

EOS, UNK, VOCAB = 0, 1, 96


@given(st.integers(0, 2**32 - 1), searches(st.just(True)), st.booleans(), st.booleans())
@settings(deadline=None, max_examples=40)
def test_equals_its_definition(model, seed, search, with_shortlist, with_prefix):
    reference, plain, listed, shortlist = model
    sources, limits, prefixes = work(seed, VOCAB, 6, with_prefix)
    engine = listed if with_shortlist else plain
    made = engine.translate(sources, limits, search, prefixes)
    different = 0
    for number, (source, limit, hypotheses) in enumerate(zip(sources, limits, made, strict=True)):
        candidates = shortlist.candidates(tagged(source, search), True) if with_shortlist else None
        prefix = prefixes[number] if with_prefix else ()
        expected = beam_search(reference, source, limit, search, candidates, prefix)
        assert len(hypotheses) == len(expected)
        different += not agree(hypotheses, expected)
        if search.prefix_bias_beta:
            prefix = ()
        assert all(h.ids[: len(prefix)] == list(prefix) for h in hypotheses)
        scores = [h.score for h in hypotheses]
        assert scores == sorted(scores, reverse=True)
        assert search.sampling or len({tuple(h.ids) for h in hypotheses}) == len(hypotheses)
        for h in hypotheses:
            assert EOS not in h.ids[:-1] and UNK not in h.ids[len(prefix) :]
            chosen = h.ids[len(prefix) :]
            assert h.truncated == (h.ids[-1] != EOS and not {*chosen[-1:]} & {*search.end_pieces})
            assert not {*chosen[:-1]} & {*search.end_pieces} and len(h.ids) <= limit
            assert not h.truncated or len(h.ids) == limit
            free = search.no_repeat_ngram_size != 1  # otherwise all pieces may be forbidden
            assert h.truncated or len(h.ids) > search.min_length or len(h.ids) == len(prefix) or not free
            assert (h.token_log_probs is not None) == search.token_log_probs
            assert (h.attention is not None) == search.attention
            assert_nothing_forbidden(h.ids, len(prefix), search)
    assert different <= 1


def assert_nothing_forbidden(ids, begun, search):
    """Checks the pieces behind the prefix directly, without the definition."""
    size = search.no_repeat_ngram_size
    grams = [tuple(ids[end - size : end]) for end in range(size, len(ids) + 1)] if size else []
    for place, gram in enumerate(grams, size):
        assert place <= begun or gram not in grams[: place - size]
    for sequence in search.suppressed:
        ends = [end for end in range(len(sequence), len(ids) + 1) if tuple(ids[end - len(sequence) : end]) == sequence]
        assert all(end <= begun for end in ends)


@pytest.mark.parametrize("beam", [2, 4])
def test_a_full_beam_is_filled_however_many_pieces_end(model, beam):
    """As in transformers and CTranslate2: all but a few of a hypothesis's best continuations may end."""
    reference, plain, listed, shortlist = model
    ends = tuple(range(2, VOCAB, 2))
    sources = random_sources(8, VOCAB, 30, longest=9)
    search = Search(beam_size=beam, num_hypotheses=beam, patience=2.0, end_pieces=ends)
    for engine in (plain, listed):
        different = 0
        for source, made in zip(sources, engine.translate(sources, [8] * 30, search), strict=True):
            candidates = shortlist.candidates(source, True) if engine is listed else None
            different += not agree(made, beam_search(reference, source, 8, search, candidates))
        assert different <= 2


@pytest.mark.parametrize("budget", [1, 30, 1 << 40])
def test_a_call_may_stop_at_any_step_and_go_on(monkeypatch, budget):
    """With the same bits, and soon, even while the slots are being filled with long sentences."""
    config, tensors = random_checkpoint(3, d=48, f=32, heads=3, enc=1, dec=2, vocab=101)
    engine = engine_of(config, tensors, shortlist=random_shortlist(4, 101))
    sources = random_sources(6, 101, 30, longest=60)
    limits = [len(source) for source in sources]
    longest = max(map(len, sources))
    search = Search(beam_size=2, num_hypotheses=2, attention=True)
    alone = [bits(engine.translate([s], [m], search))[0] for s, m in zip(sources, limits, strict=True)]
    seen = watch_calls(monkeypatch, engine, budget, "waiting")
    made = engine.translate(sources, limits, search)
    assert bits(made) == alone
    begun = [waiting for (waiting,) in seen]
    together = np.add.accumulate([0, *map(len, sources)])[[0, *begun]]
    assert np.diff(together).max() <= budget + max(family_of(engine.model.config.architecture).tokens, longest)
    assert begun[-1] == len(sources) and (budget > 30 or len(begun) > 15)


@pytest.mark.parametrize(
    "refill, most_active",
    [(0, 7), (0.01, 7), (0.25, 6), (0.5, 4), (0.51, 3), (0.75, 2), (0.9, 0), (1, 0)],
)
def test_free_slots_are_filled_again_when_so_many_are_free(model, monkeypatch, refill, most_active):
    """Not earlier; translations do not change."""
    _, plain, _, _ = model
    sources = random_sources(8, VOCAB, 60, longest=30)
    limits, search = [len(source) for source in sources], Search(min_length=30)  # they end at their limits
    expected = bits(plain.translate(sources, limits, search))
    kept = watch_calls(monkeypatch, plain, 1, "waiting", "active_count", "filling")
    assert bits(plain.translate(sources, limits, search, slots=8, refill=refill)) == expected
    active = []  # at each refill, except the first and the last ones, without waiting sentences
    for (waited, before, filling), (waiting, _, _) in itertools.pairwise(kept):
        if waiting > waited and not filling:
            active.append(before)
        elif waiting < len(sources) and not filling:
            assert before > most_active
    assert active and max(active) == most_active


def test_a_prefix_outside_the_candidates(model):
    """Its pieces are kept with log-probability minus infinity, and the search continues."""
    _, plain, listed, shortlist = model
    source = random_sources(3, VOCAB, 1, longest=5)[0]
    inside = set(shortlist.candidates(source, True).tolist())
    outside = next(i for i in range(2, VOCAB) if i not in inside)
    search = Search(beam_size=4, num_hypotheses=4, token_log_probs=True)
    made = listed.translate([source], [9], search, [[5, outside]])[0]
    assert len(made) == 4 and len({tuple(h.ids) for h in made}) == 4
    for h in made:
        assert h.ids[:2] == [5, outside]
        assert h.log_prob == h.score == h.token_log_probs[1] == -np.inf
        assert np.isfinite([*h.token_log_probs[:1], *h.token_log_probs[2:]]).all()
    assert np.isfinite(plain.translate([source], [9], search, [[5, outside]])[0][0].log_prob)


def test_a_prefix_that_ends_is_the_translation(model):
    _, plain, _, _ = model
    source = random_sources(3, VOCAB, 1, longest=5)[0]
    made = plain.translate([source], [9], Search(beam_size=4, num_hypotheses=4), [[5, 6, EOS]])[0]
    assert [h.ids for h in made] == [[5, 6, EOS]] and not made[0].truncated


def test_attention_is_a_distribution_over_the_source(model):
    _, plain, _, _ = model
    sources = random_sources(9, VOCAB, 8, longest=40)
    for source, hypotheses in zip(
        sources, plain.translate(sources, [20] * 8, Search(3, 3, attention=True)), strict=True
    ):
        for h in hypotheses:
            assert h.attention.shape == (len(h.ids), len(source))
            assert np.abs(h.attention.sum(axis=1) - 1).max() < 1e-5 and (h.attention >= 0).all()
