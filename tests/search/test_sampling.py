"""Samples: chance depends only on sentence, options and seed, as defined; frequencies are the model's."""

import collections

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.search.settings import Search
from tests.definitions.greedy import log_softmax
from tests.definitions.sampling import drawn, philox, sentence_key, weights
from tests.sample_models.random_models import random_sources
from tests.support.guarded import Guards
from tests.support.searches import bits
from tests.support.side_by_side import in_threads

VOCAB = 96
WORDS = st.integers(0, 2**32 - 1)
ALL = Search(beam_size=4, num_hypotheses=4, sampling_topk=0)


def test_the_generator_gives_the_numbers_that_its_authors_publish():
    """Random123's published results for philox4x32-10."""
    ones, counter = [0xFFFFFFFF] * 4, [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344]
    assert philox([0] * 4, [0] * 2) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    assert philox(ones, ones[:2]) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]
    assert philox(counter, [0xA4093822, 0x299F31D0]) == [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]


@given(WORDS, WORDS, st.integers(-(2**63), 2**63 - 1), st.integers(0, 2**63 - 1))
def test_random_words_equal_their_definition(program, step, number, key, seed):
    counter = step, number, key & 0xFFFFFFFF, (key >> 32) & 0xFFFFFFFF
    expected = philox(counter, (seed & 0xFFFFFFFF, seed >> 32))[0]
    assert program.random_word(seed, key, number, step) == expected


@given(st.lists(st.integers(0, 2**31 - 1), max_size=50))
def test_keys_of_sentences_equal_their_definition(program, pieces):
    made = program.sentence_key(np.array(pieces, np.int32), len(pieces))
    assert made % 2**64 == sentence_key(pieces)


@given(st.integers(0, 2**32 - 1), st.sampled_from([0, 1, 3, 40, 300]), st.sampled_from([1.0, 0.9, 0.5, 0.01]), WORDS)
@settings(max_examples=200)
def test_a_draw_equals_its_definition(program, seed, topk, topp, word):
    """For any logits: the same weights up to rounding, and the same piece except near a boundary."""
    generator, guard = np.random.default_rng(seed), Guards(0)
    length = int(generator.integers(1, 300))
    logits = np.full(-(-length // 16) * 16, -3e38, np.float32)
    logits[:length] = generator.standard_normal(length) * generator.choice([0.1, 3.0, 40.0])
    logits[:length][generator.random(length) < 0.2] = -3e38
    if (logits == -3e38).all():
        logits[0] = 0
    search = Search(sampling_topk=topk, sampling_topp=topp, sampling_temperature=generator.choice([0.5, 1.0, 4.0]))
    from cpunmt.search.settings import search_record

    record, _kept = search_record(search)
    room = guard.empty(len(logits), np.float32)
    bits_ = program.weigh_pieces(record, guard.copy(logits), len(logits), room)
    guard.check()
    made = np.where(room > np.array([bits_], np.int32).view(np.float32)[0], room, 0)[:length]
    expected = weights(np.where(logits[:length] > -3e38, logits[:length].astype(np.float64), -np.inf), search)
    assert np.allclose(made, expected, atol=1e-5) or abs((made > 0).sum() - (expected > 0).sum()) == 1
    column = program.column_at(room, len(logits), bits_, word)
    assert made[column] > 0
    reached = np.cumsum(made.astype(np.float64))
    place = reached[-1] * word / 2**32
    assert reached[column] >= place * (1 - 1e-5) and (column == 0 or reached[column - 1] <= place * (1 + 1e-5))


def test_frequencies_are_the_models_probabilities(model):
    """First pieces of 4,000 samples with different seeds have the model's frequencies, by a chi-square test."""
    reference, engine, _, _ = model
    source = random_sources(3, VOCAB, 1, longest=6)[0]
    search = Search(beam_size=64, num_hypotheses=64, sampling_topk=0, sampling_temperature=1.5)
    seen = collections.Counter()
    for seed in range(63):
        seen.update(h.ids[0] for h in engine.translate([source], [1], search._replace(seed=seed))[0])
    logits, _ = reference.step(reference.start(reference.encode(source)), [0])
    log_probs = log_softmax(logits[0])
    log_probs[reference.config.unk_id] = -np.inf
    expected = weights(log_probs, search)
    expected *= seen.total() / expected.sum()
    often = expected >= 5
    statistic = sum((seen[i] - expected[i]) ** 2 / expected[i] for i in np.flatnonzero(often))
    freedom = often.sum()
    assert statistic < freedom + 4 * (2 * freedom) ** 0.5 and seen[reference.config.unk_id] == 0


def test_from_one_piece_is_greedy(model):
    """A tenth of the highest temperature draws the best piece, except near ties."""
    _, plain, _, _ = model
    sources = random_sources(5, VOCAB, 20, longest=8)
    cold = Search(sampling_topk=0, sampling_temperature=0.01)
    greedy = plain.translate(sources, [9] * 20)
    made = plain.translate(sources, [9] * 20, cold)
    assert sum(a[0].ids == b[0].ids for a, b in zip(made, greedy, strict=True)) >= 19
    narrow = plain.translate(sources, [9] * 20, Search(sampling_topk=0, sampling_topp=0.001))
    assert [h[0].ids for h in narrow] == [h[0].ids for h in greedy]


def test_samples_depend_on_seed_number_and_sentence_only(model):
    _, plain, listed, _ = model
    sources = random_sources(5, VOCAB, 30, longest=12)
    for engine in (plain, listed):
        made = engine.translate(sources, [12] * 30, ALL)
        assert bits(engine.translate(sources, [12] * 30, ALL)) == bits(made)
        other = engine.translate(sources, [12] * 30, ALL._replace(seed=1))
        assert sum(a != b for a, b in zip(bits(other), bits(made), strict=True)) >= 29
        assert sum(len({tuple(h.ids) for h in found}) > 2 for found in made) >= 25  # four samples differ
        twice = engine.translate([sources[0]] * 2, [12] * 2, ALL)
        assert bits(twice) == bits(made[:1]) * 2
        fewer = engine.translate(sources, [12] * 30, ALL._replace(beam_size=2, num_hypotheses=2))
        for two, four in zip(bits(fewer), bits(made), strict=True):
            assert all(one in four for one in two)  # the first two of the four


def test_threads_draw_the_same(model):
    _, _, listed, _ = model
    sources = random_sources(5, VOCAB, 40, longest=12)
    expected = bits(listed.translate(sources, [12] * 40, ALL))

    def work(number):
        return [bits(listed.translate(sources[number:], [12] * (40 - number), ALL)) == expected[number:]] * 3

    assert in_threads(4, work) == [[True] * 3] * 4


def test_a_samples_log_probability_is_the_models(model):
    _, plain, _, _ = model
    sources = random_sources(5, VOCAB, 10, longest=9)
    made = plain.translate(sources, [12] * 10, ALL._replace(sampling_temperature=3.0, token_log_probs=True))
    pairs = [(source, h) for source, found in zip(sources, made, strict=True) for h in found]
    targets = [h.ids for _, h in pairs]
    scored = plain.translate([s for s, _ in pairs], [len(t) for t in targets], Search(token_log_probs=True), targets)
    assert bits(scored) == [bits([[h]])[0] for _, h in pairs]


def test_the_definition_draws_by_inversion():
    log_probs, search = np.log([0.5, 0.25, 0.25]), Search(sampling_topk=0)
    assert [drawn(log_probs, search, u) for u in (0, 0.49, 0.51, 0.74, 0.76, 0.999)] == [0, 0, 1, 1, 2, 2]
    assert [drawn(log_probs, search._replace(sampling_topp=0.5), u) for u in (0, 0.999)] == [0, 0]
