"""The best piece by bounds: the bits of all logits, for every greedy search of a few sentences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.engine import full_output
from cpunmt.formats.conversion import packed_tensors
from cpunmt.kernels.records import BLOCK
from cpunmt.model.tensors import Model
from cpunmt.search.records import BATCH, FUSED_ROWS
from cpunmt.search.settings import GREEDY
from tests.sample_models.random_models import engine_of, random_checkpoint, random_sources
from tests.support.searches import bits, work

VOCAB = 3 * BLOCK + 37


@pytest.fixture(scope="module")
def engines():
    """Returns engines of models that are sure of few pieces, of none, of pieces that are never chosen, and whose scores
    are no numbers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(full_output, "LEAST_BYTES", 0)
        config, tensors = random_checkpoint(12, d=64, f=64, heads=2, enc=1, dec=1, vocab=VOCAB)
        loud = np.where(np.arange(VOCAB) % 23 == 3, 9, 1).astype(np.float32)
        sure = tensors | {"embedding": tensors["embedding"] * loud[:, None]}
        barred = np.where(np.arange(VOCAB) == config.unk_id, 200, 0) + np.where(
            np.arange(VOCAB) == config.eos_id, 190, 0
        )
        loudest = tensors | {"output.bias": tensors["output.bias"] + barred.astype(np.float32)}
        lost = tensors | {"output.bias": np.where(np.arange(VOCAB) % 2, np.nan, -np.inf).astype(np.float32)}
        made = [engine_of(config, given, "int8") for given in (sure, tensors, loudest, lost)]
        for engine in made:
            assert engine._halves_at()
        yield made


greedy = st.builds(
    GREEDY._replace,
    scored=st.booleans(),
    token_log_probs=st.booleans(),
    attention=st.booleans(),
    min_length=st.sampled_from([0, 0, 3]),
    length_penalty=st.sampled_from([0.0, 1.0]),
    word_penalty=st.sampled_from([0.0, 0.3]),
    coverage_penalty=st.sampled_from([0.0, 0.0, 0.2]),
    source_begin=st.sampled_from([(), (7,)]),
    prompt=st.sampled_from([(), (9,), (1, 4)]),
)


@given(
    st.integers(0, 2**32 - 1),
    st.integers(0, 3),
    greedy,
    st.integers(1, 6),
    st.sampled_from([1, 2, None]),
    st.booleans(),
)
@settings(deadline=None, max_examples=200)
def test_equals_the_search_in_all_logits(engines, seed, which, search, count, slots, with_prefix):
    sources, limits, prefixes = work(seed, VOCAB, count, with_prefix)
    engine = engines[which]
    made = bits(engine.translate(sources, limits, search, prefixes, slots))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "_few_rows", 0)
        assert made == bits(engine.translate(sources, limits, search, prefixes, slots))
    if which < 3:
        assert made == bits(engine.translate(sources, limits, search._replace(stepwise=True), prefixes, slots))


@pytest.mark.parametrize("change", [-1, 0, 1e-32, 1e34])
def test_odd_scales_are_not_bounded(engines, change):
    """A bound supposes that they are positive, and that their products are ordinary floats."""
    config, tensors = random_checkpoint(12, d=64, f=64, heads=2, enc=1, dec=1, vocab=VOCAB)
    config, packed = packed_tensors(config, tensors, "int8")
    packed["embedding.scale"] = packed["embedding.scale"] * np.where(np.arange(VOCAB) == 7, change, 1).astype(
        np.float32
    )
    assert full_output.halves(Model(config, packed), engines[0]._program) is None


def test_only_calls_that_know_of_bounds_use_them(engines, monkeypatch):
    """Others read the output layer, or log-probabilities while a sentence goes on."""
    monkeypatch.setattr(engines[0], "_few_rows", 2)  # nothing is multiplied here, so on any instructions
    unscored, sources = GREEDY._replace(scored=False), random_sources(3, VOCAB, 2)
    for search, bounded, expected in ((unscored, False, False), (unscored, True, True), (GREEDY, True, True)):
        record, *_ = engines[0]._prepared(sources, [5, 5], search, None, None, bounded=bounded)
        batch = np.frombuffer(record, BATCH)[0]
        assert bool(batch["halves"]) == expected and bool(batch["full_output"]) == (search is GREEDY or not bounded)


def test_long_sentences_are_scored_in_several_products(engines):
    engine, sources = engines[1], random_sources(3, VOCAB, 2)
    limits, search = [2 * FUSED_ROWS + 9, 3], GREEDY._replace(token_log_probs=True, min_length=2 * FUSED_ROWS + 8)
    (long,), (short,) = engine.translate(sources, limits, search)
    assert (len(long.ids), len(short.ids)) == (limits[0], 3)
    assert bits([[long], [short]]) == bits(engine.translate(sources, limits, search._replace(stepwise=True)))
