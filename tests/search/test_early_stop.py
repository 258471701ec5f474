"""A search that stops when a sentence is settled returns the same bits as one that continues to the end."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.model.config import ModelConfig
from cpunmt.search.settings import Search
from tests.sample_models import real_model
from tests.sample_models.random_models import engine_of, random_shortlist, random_sources, random_tensors
from tests.support.searches import bits, searches, watch_calls
from tests.support.speeds import slow_after

VOCAB = 96


@pytest.fixture(scope="module")
def engines():
    """Makes a random model whose translations end soon, without and with a shortlist."""
    config = ModelConfig.of(
        model_dim=32, ffn_dim=64, heads=2, encoder_layers=1, decoder_parameters=(0,), cell="ssru", vocab_size=VOCAB
    )
    tensors = random_tensors(config, 5)
    return engine_of(config, tensors), engine_of(config, tensors, shortlist=random_shortlist(4, VOCAB))


@given(st.integers(0, 2**32 - 1), searches(), st.booleans(), st.booleans())
@settings(deadline=None, max_examples=150)
def test_finds_what_a_search_to_the_end_finds(engines, seed, search, with_shortlist, with_prefix):
    generator = np.random.default_rng(seed)
    sources = random_sources(seed, VOCAB, 12, longest=9)
    limits = generator.integers(4, 40, len(sources)).tolist()
    prefixes = None
    if with_prefix:  # some of them end, some have pieces outside the candidates
        prefixes = [generator.integers(0, VOCAB, generator.integers(0, 4)).tolist() for _ in sources]
        prefixes = [prefix[: prefix.index(0) + 1] if 0 in prefix else prefix for prefix in prefixes]
    engine = engines[with_shortlist]
    made = engine.translate(sources, limits, search, prefixes)
    whole = engine.translate(sources, limits, search._replace(to_the_end=True), prefixes)
    assert bits(made) == bits(whole)


@pytest.mark.parametrize(("scheme", "count"), slow_after(1, [("int8", 40), ("int8", 200), ("float32", 40)]))
@pytest.mark.parametrize("penalties", [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.6, 0.5, 0.2), (1.0, -0.5, 0.0)])
def test_of_real_sentences(scheme, count, penalties):
    engine, sources = real_model.engine(scheme), real_model.sources(count)
    limits = [3 * len(source) for source in sources]
    length, word, coverage = penalties
    for beam, wanted in ((4, 1), (6, 1), (6, 3)):
        search = Search(beam, wanted, length, word, coverage, token_log_probs=True, attention=True)
        whole = engine.translate(sources, limits, search._replace(to_the_end=True))
        assert bits(engine.translate(sources, limits, search)) == bits(whole)


def steps(monkeypatch, engine, sources, limits, search) -> int:
    """Counts steps of the decoder, each a compiled call, for sentences that are translated one by one."""
    calls = watch_calls(monkeypatch, engine)
    for source, limit in zip(sources, limits, strict=True):
        engine.translate([source], [limit], search)
    return len(calls)


@pytest.mark.parametrize(
    ("changes", "least"),
    [
        ({"length_penalty": 0.0}, 0.1),
        ({"length_penalty": 0.0, "word_penalty": 0.2}, 0.1),
        ({"length_penalty": 1.0}, 0.0),
        ({"length_penalty": 0.0, "num_hypotheses": 4}, None),  # all are requested: none can be skipped
    ],
)
def test_what_it_saves(monkeypatch, changes, least):
    engine, sources = real_model.engine("int8"), real_model.sources(60)
    limits = [3 * len(source) for source in sources]
    search = Search(beam_size=4, **changes)
    fewer = steps(monkeypatch, engine, sources, limits, search)
    monkeypatch.undo()
    whole = steps(monkeypatch, engine, sources, limits, search._replace(to_the_end=True))
    if least is None:
        assert fewer == whole
    else:
        assert 0 < fewer < whole * (1 - least), (fewer, whole)
