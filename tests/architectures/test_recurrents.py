"""Recurrent networks: random ones against their definition, in float32. The laws: tests/test_laws_of_models.py."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.architectures.recurrent.network import most_kept
from cpunmt.search.settings import Search
from tests.architectures.comparison import compare
from tests.sample_models.random_models import engine_of, random_shortlist, random_sources, random_tensors
from tests.sample_models.recurrents import NAMED, configs, make_config
from tests.support.searches import bits, searches

switches = st.fixed_dictionaries(
    {"merged": st.booleans(), "projected": st.booleans(), "known": st.sampled_from([0, 1, 7, 100])}
)


@pytest.mark.parametrize("name", NAMED)
def test_a_named_network_equals_its_definition(name):
    config = make_config(**NAMED[name])
    assert sum(compare(config, seed, Search(3, 3, token_log_probs=True, attention=True)) for seed in range(3)) <= 1


@given(configs(), st.integers(0, 2**32 - 1), st.integers(1, 4), switches)
@settings(max_examples=40)
def test_any_network_equals_its_definition(config, seed, beam, chosen):
    assert compare(config, seed, Search(beam, beam, token_log_probs=True, attention=True), **chosen) <= 1


@given(
    configs(), st.integers(0, 2**32 - 1), st.sampled_from(["int8", "int16", "float32", "log4"]), searches(), st.data()
)
@settings(max_examples=40)
def test_what_is_computed_once_has_the_same_bits(config, seed, scheme, search, data):
    """Merged states and kept products, on and off, first and later uses. (Projected contexts round differently.)"""
    shortlist = random_shortlist(seed, config.vocab_size) if config.source_size == config.vocab_size else None
    engine = engine_of(config, random_tensors(config, seed), scheme, shortlist)
    sources, network = random_sources(seed, config.source_size, 8, longest=20), engine.model.network
    limits = [12] * len(sources)
    network.switch(projected=data.draw(st.booleans()), merged=False, known=0)
    plain = bits(engine.translate(sources, limits, search))
    for merged, known in ((True, 0), (False, data.draw(st.integers(1, 60))), (True, 1000)):
        network.switch(merged=merged, known=known)
        for _ in range(2):
            assert bits(engine.translate(sources, limits, search)) == plain


@given(configs())
@settings(deadline=None, max_examples=20)
def test_what_is_kept_is_foretold(config):
    kept = engine_of(config, random_tensors(config, 1)).model.network.kept_bytes()
    most = most_kept(config.architecture, config.source_size, config.vocab_size)
    assert most == sum(size for _, size in kept.values())


def test_known_pieces_and_merged_states_spare_products():
    config = make_config(attention="input")
    engine = engine_of(config, random_tensors(config, 1), "int8")
    engine.model.network.switch(known=20)
    assert engine.model.network.kept_bytes() == {
        "source": (20, 21 * 4 * 2 * 48),
        "target": (20, 21 * 4 * (3 * 48 + 32)),
    }
    source, search, found = [*range(10, 30), *range(10, 30), 0], Search(6, 6, min_length=25), []
    for merged in (False, True):
        engine.model.network.switch(merged=merged)
        engine.translate([source], [30], search)
        memory = list(engine._workspaces.values())[-1].memories[0]
        names = ("rows_seen", "rows_multiplied", "pieces_seen", "pieces_multiplied")
        found.append([int(memory[name][0]) for name in names])
        memory[list(names)] = 0
    (rows, all_rows, pieces, new), (_, unique, again, few) = found
    assert rows == all_rows > 100 and unique < 0.95 * rows
    assert pieces == again == rows + 41 and few < new < pieces
