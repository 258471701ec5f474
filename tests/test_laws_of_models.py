"""Laws 2 and 4 of the engine, ids in and ids out: on tiny random models of every cell, architecture and scheme.

2   the same bits alone, in any batch, in any order, in any number of slots, whenever free ones are filled again
4   a search and scoring report the same of its hypotheses
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.architectures.transformer.cells.kinds import CELLS
from cpunmt.model.config import SCHEMES
from cpunmt.search.settings import Search
from tests.sample_models import real_model, recurrents, transformers
from tests.sample_models.random_models import engine_of, random_map, random_shortlist, random_sources, random_tensors
from tests.support.searches import bits, searches
from tests.support.speeds import slow_after

seeds = st.integers(0, 2**32 - 1)
sizes = st.sampled_from([{}, {"model_dim": 48, "heads": 3, "vocab_size": 101}, {"model_dim": 80, "heads": 5}])
KINDS = [*CELLS, "recurrent"]


def any_config(data, kind):
    """Draws a config of a Transformer with that cell, or of a recurrent network."""
    if kind == "recurrent":
        return data.draw(recurrents.configs(), "config")
    config, sizes_ = data.draw(transformers.configs(), "config"), data.draw(sizes, "sizes")
    if sizes_ and config.architecture.attention_dim:
        sizes_ = {**sizes_, "attention_dim": 32 * sizes_["heads"]}
    return config.changed(cell=kind, **sizes_)


LISTS = st.sampled_from([None, "shortlist", "map"])


def engine_with(config, seed, scheme, lists):
    shortlist = None
    if lists == "shortlist" and config.source_size == config.vocab_size:
        shortlist = random_shortlist(seed, config.vocab_size)
    elif lists == "map":
        shortlist = random_map(seed, config.source_size, config.vocab_size)
    return engine_of(config, random_tensors(config, seed), scheme, shortlist)


@pytest.mark.parametrize("kind", KINDS)
@given(seeds, st.sampled_from(list(SCHEMES)), searches(), st.integers(1, 40), st.integers(1, 70), st.data())
@settings(deadline=None, max_examples=15)
def test_law_2_alone_and_in_any_batch(kind, seed, scheme, search, count, slots, data):
    config = any_config(data, kind)
    engine = engine_with(config, seed, scheme, data.draw(LISTS, "lists"))
    search = search._replace(full=data.draw(st.booleans(), "full vocabulary"))
    generator = np.random.default_rng(seed)
    sources = random_sources(seed, config.source_size, count, longest=int(generator.integers(1, 60)))
    limits = generator.integers(1, 30, count).tolist()
    prefixes = [generator.integers(2, config.vocab_size, generator.integers(0, 3)).tolist() for _ in sources]
    limits = [max(limit, len(prefix)) for limit, prefix in zip(limits, prefixes, strict=True)]
    alone = [
        bits(engine.translate([source], [limit], search, [prefix]))[0]
        for source, limit, prefix in zip(sources, limits, prefixes, strict=True)
    ]
    order = generator.permutation(count)
    sources, limits, prefixes = ([each[i] for i in order] for each in (sources, limits, prefixes))
    refill = data.draw(st.floats(0, 1), "refill")
    made = engine.translate(sources, limits, search, prefixes, slots=slots, refill=refill)
    assert bits(made) == [alone[i] for i in order]


@pytest.mark.parametrize("kind", KINDS)
@given(seeds, st.sampled_from(list(SCHEMES)), LISTS, st.booleans(), st.data())
@settings(deadline=None, max_examples=8)
def test_law_4_forced_decoding_gives_the_log_probability_of_a_translation(kind, seed, scheme, lists, full, data):
    config = any_config(data, kind)
    engine = engine_with(config, seed, scheme, lists)
    sources = random_sources(seed, config.source_size, 5, longest=9)
    search = Search(beam_size=3, num_hypotheses=3, token_log_probs=True, attention=True, full=full)
    made = engine.translate(sources, [12] * len(sources), search)
    pairs = [
        (source, hypothesis) for source, hypotheses in zip(sources, made, strict=True) for hypothesis in hypotheses
    ]
    targets = [hypothesis.ids for _, hypothesis in pairs]
    scored = engine.translate([source for source, _ in pairs], [len(ids) for ids in targets], search, targets)
    assert bits(scored) == [bits([[h]])[0] for _, h in pairs]


@pytest.mark.parametrize(
    "scheme, full, count",
    slow_after(
        2,
        [
            ("int8", True, 30),  # test_laws uses the shortlist
            ("float32", False, 30),
            ("int8", False, 2000),
            ("int8", True, 2000),
            ("float32", False, 2000),
        ],
    ),
)
def test_law_2_of_real_sentences(scheme, full, count):
    """A real model, alone, in batches of 7 and 64, all at once, backwards, by length, with other slots."""
    engine, sources = real_model.engine(scheme), list(real_model.sources(count))
    limits, search = [2 * len(source) for source in sources], Search(full=full)
    alone = [bits(engine.translate([s], [m], search))[0] for s, m in zip(sources, limits, strict=True)]
    by_length = sorted(range(count), key=lambda i: len(sources[i]))
    shuffled = np.random.default_rng(1).permutation(count).tolist()
    for order, size, slots in (
        (range(count), 7, 64),
        (range(count), 64, 5),
        (shuffled, count, 64),
        (by_length, count, 17),
        (by_length[::-1], 64, 64),
    ):
        for first in range(0, count, size):
            chosen = order[first : first + size]
            made = engine.translate([sources[i] for i in chosen], [limits[i] for i in chosen], search, slots=slots)
            assert bits(made) == [alone[i] for i in chosen]
