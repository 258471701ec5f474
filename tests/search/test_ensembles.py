"""Ensembles: beam search with several models against its definition in NumPy, and invariances."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.engine.engine import Engine
from cpunmt.engine.workspace import Member
from cpunmt.formats.conversion import packed_tensors
from cpunmt.model.config import SCHEMES
from cpunmt.model.tensors import Model
from cpunmt.search.settings import Search
from quantize.reference.network import Reference
from tests.definitions.beam_search import beam_search
from tests.sample_models import real_model, recurrents, transformers
from tests.sample_models.random_models import random_shortlist, random_sources, random_tensors
from tests.support.searches import agree, bits, searches, tagged, work
from tests.support.side_by_side import in_threads

VOCAB = 96
# (family's module, name), of different cells, with one vocabulary
KINDS = [
    (transformers, "opus"),
    (recurrents, "plain"),
    (recurrents, "Bahdanau"),
    (transformers, "gru"),
    (recurrents, "LSTM over GRU"),
    (transformers, "average of one width"),
    (recurrents, "stack"),
    (transformers, "deep"),
    (recurrents, "alternating"),
    (transformers, "highway"),
]
WIDTHS = {
    transformers: [{"model_dim": 32, "heads": 2}, {"model_dim": 48, "heads": 3}, {"model_dim": 64, "heads": 2}],
    recurrents: [{}, {"model_dim": 48}, {"encoder_dim": 80}],
}
weights_of = st.lists(st.sampled_from([0.1, 0.5, 1.0, 3.0]), min_size=2, max_size=3)


def model_of(config, seed, scheme="float32"):
    return Model(*packed_tensors(config, random_tensors(config, seed), scheme))


def checkpoint(number):
    """Returns (config, tensors) of the model of this number."""
    family, name = KINDS[number % len(KINDS)]
    config = family.make_config(**{**family.NAMED[name], **WIDTHS[family][number % 3], "vocab_size": VOCAB})
    return config, random_tensors(config, number)


@pytest.fixture(scope="module")
def pairs():
    """Returns (Reference, Model) of each kind."""
    made = [checkpoint(number) for number in range(len(KINDS))]
    return [(Reference(*found), Model(*packed_tensors(*found, "float32"))) for found in made]


def members_of(models, weights):
    return [Member(model, float(np.float32(w / sum(weights)))) for model, w in zip(models, weights, strict=True)]


@given(st.integers(0, 2**32 - 1), searches(st.just(True)), weights_of, st.booleans(), st.booleans())
@settings(max_examples=60)
def test_equals_its_definition(pairs, seed, search, weights, with_shortlist, with_prefix):
    generator = np.random.default_rng(seed)
    chosen = [pairs[i] for i in generator.permutation(len(pairs))[: len(weights)]]
    shortlist = random_shortlist(4, VOCAB) if with_shortlist else None
    engine = Engine(members_of([model for _, model in chosen], weights), shortlist)
    reference = [(one, weight / sum(weights)) for (one, _), weight in zip(chosen, weights, strict=True)]
    sources, limits, prefixes = work(seed, VOCAB, 5, with_prefix)
    made = engine.translate(sources, limits, search, prefixes)
    same = 0
    for number, (source, limit, hypotheses) in enumerate(zip(sources, limits, made, strict=True)):
        candidates = shortlist.candidates(tagged(source, search), True) if with_shortlist else None
        prefix = prefixes[number] if with_prefix else ()
        same += agree(hypotheses, beam_search(reference, source, limit, search, candidates, prefix))
        assert search.prefix_bias_beta or all(h.ids[: len(prefix)] == list(prefix) for h in hypotheses)
        if search.attention and not search.tagged:
            assert all(np.abs(h.attention.sum(axis=1) - 1).max() < 1e-5 for h in hypotheses)
    assert same >= len(sources) - 1


@given(
    transformers.configs() | recurrents.configs(),
    st.integers(0, 2**32 - 1),
    st.sampled_from(list(SCHEMES)),
    searches(),
    st.booleans(),
    st.data(),
)
@settings(max_examples=40)
def test_one_model_twice_is_the_model(config, seed, scheme, search, full, data):
    """Halves of a number add up to the number: the same bits."""
    model, sources = model_of(config, seed, scheme), random_sources(seed, config.source_size, 12, longest=20)
    shortlist = random_shortlist(seed, config.vocab_size) if config.source_size == config.vocab_size else None
    search, limits = search._replace(full=full), [12] * len(sources)
    prefixes = [data.draw(st.lists(st.integers(2, config.vocab_size - 1), max_size=2)) for _ in sources]
    expected = bits(Engine(model, shortlist).translate(sources, limits, search, prefixes))
    for members in ([Member(model)], [Member(model, 0.5)] * 2, [Member(model, 0.25)] * 4):
        assert bits(Engine(members, shortlist).translate(sources, limits, search, prefixes)) == expected


def test_one_model_three_times_says_the_same():
    """Thirds are rounded: the same texts, and nearly the same numbers."""
    engine, sources = real_model.engine("int8"), real_model.sources(100)
    three = Engine([Member(engine.model, 1 / 3)] * 3, engine.shortlist)
    limits = [3 * len(source) for source in sources]
    for search in (Search(), Search(beam_size=4, num_hypotheses=2)):
        made, expected = three.translate(sources, limits, search), engine.translate(sources, limits, search)
        different = 0
        for ours, theirs in zip(made, expected, strict=True):
            different += not agree(ours, theirs)
        assert different <= 1


@given(st.integers(0, 2**32 - 1), searches(st.just(True)), weights_of, st.booleans())
@settings(max_examples=30)
def test_the_order_of_the_models_does_not_matter(pairs, seed, search, weights, with_shortlist):
    generator = np.random.default_rng(seed)
    chosen = [pairs[i][1] for i in generator.permutation(len(pairs))[: len(weights)]]
    shortlist = random_shortlist(4, VOCAB) if with_shortlist else None
    members = members_of(chosen, weights)
    sources = random_sources(seed, VOCAB, 20, longest=9)
    made = Engine(members, shortlist).translate(sources, [12] * 20, search)
    turned = Engine(members[::-1], shortlist).translate(sources, [12] * 20, search)
    assert sum(agree(a, b) for a, b in zip(made, turned, strict=True)) >= 18


@given(
    st.integers(0, 2**32 - 1),
    searches(),
    weights_of,
    st.booleans(),
    st.integers(1, 40),
    st.sampled_from(["int8", "float32"]),
)
@settings(max_examples=40)
def test_law_2_alone_and_in_any_batch(seed, search, weights, with_shortlist, slots, scheme):
    generator = np.random.default_rng(seed)
    numbers = generator.permutation(len(KINDS))[: len(weights)]
    models = [Model(*packed_tensors(*checkpoint(int(n)), scheme)) for n in numbers]
    engine = Engine(members_of(models, weights), random_shortlist(4, VOCAB) if with_shortlist else None)
    sources = random_sources(seed, VOCAB, 25, longest=40)
    limits = generator.integers(1, 30, len(sources)).tolist()
    alone = [bits(engine.translate([s], [limit], search))[0] for s, limit in zip(sources, limits, strict=True)]
    order = generator.permutation(len(sources))
    made = engine.translate([sources[i] for i in order], [limits[i] for i in order], search, slots=slots)
    assert bits(made) == [alone[i] for i in order]
    whole = engine.translate(sources, limits, search._replace(to_the_end=True))
    assert bits(whole) == alone  # early stopping does not change the result


def test_threads_share_an_ensemble(pairs):
    engine = Engine(members_of([model for _, model in pairs[:2]], [1, 2]), random_shortlist(4, VOCAB))
    batches = [random_sources(seed, VOCAB, 5 + 9 * seed, longest=10 + 5 * seed) for seed in range(4)]
    search = Search(beam_size=3, num_hypotheses=2, attention=True)
    expected = [bits(engine.translate(batch, [20] * len(batch), search)) for batch in batches]

    def work(number):
        turns = [(number + turn) % 4 for turn in range(20)]
        made = [bits(engine.translate(batches[i], [20] * len(batches[i]), search)) for i in turns]
        return [i for i, found in zip(turns, made, strict=True) if found != expected[i]]

    assert in_threads(4, work) == [[]] * 4


def test_scoring_gives_the_log_probability_of_a_translation(pairs):
    engine = Engine(members_of([model for _, model in pairs[:3]], [1, 2, 3]), random_shortlist(4, VOCAB))
    sources = random_sources(3, VOCAB, 12, longest=9)
    for full in (False, True):
        search = Search(beam_size=3, num_hypotheses=3, token_log_probs=True, attention=True, full=full)
        made = engine.translate(sources, [12] * len(sources), search)
        found = [(source, h) for source, hypotheses in zip(sources, made, strict=True) for h in hypotheses]
        targets = [h.ids for _, h in found]
        scored = engine.translate([source for source, _ in found], [len(ids) for ids in targets], search, targets)
        assert bits(scored) == [bits([[h]])[0] for _, h in found]
