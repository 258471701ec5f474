"""Papers A and B against their definitions: the fused output layer, and the rows of a batch's steps."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.top_up.ways import HALF, MINI_BATCHES, REMOVAL, WAYS, Decoders, Work
from cpunmt.search.settings import Search
from tests.kernels.test_fused_top_k import take
from tests.papers.definitions import faster_inference as paper
from tests.sample_models.random_models import engine_of, random_sources, random_tensors
from tests.sample_models.transformers import make_config
from tests.support.guarded import Guards
from tests.support.speeds import slow_after

seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.integers(1, 60), st.integers(1, 12))
@settings(deadline=None, max_examples=50)
def test_the_fused_output_layer_is_algorithm_2_and_3(program, seed, blocks, k):
    generator = np.random.default_rng(seed)
    products, bias = generator.normal(0, 3, (2, 16 * blocks)).astype(np.float32)
    expected = paper.one_pass(products, bias, k)
    best, probability = paper.five_passes(products, bias)
    assert expected[0] == (best, pytest.approx(probability))
    columns, scores, log_sum = take(program, products + bias, [0], Guards(4), k)
    assert columns.tolist() == [column for column, _ in expected]
    np.testing.assert_allclose(np.exp(scores - log_sum), [chance for _, chance in expected], rtol=1e-4)
    columns, _, _ = take(program, products + bias, [0], Guards(4), 1, normalized=False)
    assert columns.tolist() == [paper.without_probabilities(products, bias)]


@pytest.fixture(scope="module")
def decoders():
    config = make_config(decoder_parameters=(0,), encoder_layers=1)
    return Decoders(engine_of(config, random_tensors(config, 3)))


RULES = {
    REMOVAL: paper.rows_with_removal,
    HALF: paper.rows_with_top_up,
    MINI_BATCHES: paper.rows_until_all_have_ended,  # its kernels are compiled, which takes long
}


@pytest.mark.parametrize("way", slow_after(2, RULES))
@given(seeds, st.integers(1, 40), st.integers(1, 9))
@settings(deadline=None, max_examples=30)
def test_steps_have_the_rows_of_the_algorithms(decoders, way, seed, count, slots):
    limits = np.random.default_rng(seed).integers(1, 15, count).tolist()
    work = Work(random_sources(seed, 40, count), limits, count)
    found = decoders.run(WAYS[way], work, Search(), slots)
    lengths = [len(hypotheses[0].ids) for hypotheses in found]
    assert decoders.rows(WAYS[way], work, Search(), slots) == RULES[way](lengths, slots)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=30), st.integers(1, 10))
def test_maxi_batches(lengths, size):
    sources = [[number] * length for number, length in enumerate(lengths)]
    sorted_sources = Work(sources, lengths, sum(lengths)).sorted(size).sources
    assert [source[0] for source in sorted_sources] == paper.maxi_batches(lengths, size)
