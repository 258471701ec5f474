"""Paper E against its definitions: decoder cells, numbers of few bits, candidates, and words for a dollar."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.papers.wngt2019 import cost
from cpunmt.layers.schemes import codebook, log4
from cpunmt.search.settings import Search
from quantize.reference.integers import offset_columns
from tests.papers.definitions import ludicrously_fast as paper
from tests.papers.random_shortlists import PIECES, random_shortlist
from tests.sample_models.random_models import engine_of, random_tensors
from tests.sample_models.transformers import make_config

seeds = st.integers(0, 2**32 - 1)
AVERAGE = {"average_gate": False, "average_dim": 48, "average_activation": "relu"}
CELLS = {"ssru": {"W": "candidate", "Wf": "forget"}, "sru": {"W": "candidate", "Wf": "forget", "Wr": "reset"}}
LAYERS = {"untied": tuple(range(6)), "tied": (0,) * 6}


def alone(tensors):
    """Returns a checkpoint whose decoder is its cells and norms: other blocks and positions add zeros."""
    silent = ("cross_attention.output.", "feed_forward.outer.")
    return {
        name: np.zeros_like(tensor) if name == "positions" or any(part in name for part in silent) else tensor
        for name, tensor in tensors.items()
    }


def parameters(tensors, layer, cell):
    """Returns the numbers of a layer's cell by the names of the definition, and its norms."""
    block, named = f"decoder.{layer}.cell", {}
    if cell == "average_attention":
        for part in ("inner", "outer"):
            named |= {part: tensors[f"{block}.{part}.weight"], f"{part}_bias": tensors[f"{block}.{part}.bias"]}
    else:
        named = {ours: tensors[f"{block}.{name}.weight"] for ours, name in CELLS[cell].items()}
        named |= {f"b{ours[1:]}": tensors[f"{block}.{name}.bias"] for ours, name in CELLS[cell].items() if ours != "W"}
    norms = [f"decoder.{layer}.{part}.norm" for part in ("cell", "cross_attention", "feed_forward")]
    first, *others = [{part: tensors[f"{norm}.{part}"] for part in ("scale", "bias")} for norm in norms]
    return named | first, others


@pytest.mark.parametrize("layers", LAYERS)
@pytest.mark.parametrize("cell", ["ssru", "sru", "average_attention"])
def test_six_layers_of_a_cell_are_as_defined(cell, layers):
    own = AVERAGE if cell == "average_attention" else {}
    options = {"positions": "trained", "scale_embedding": False, "encoder_layers": 1, **own}
    config = make_config(cell=cell, decoder_parameters=LAYERS[layers], **options)
    tensors = alone(random_tensors(config, 5))
    (made,) = engine_of(config, tensors).translate([[5, 7, 0]], [6], Search(full=True, vocab_logits=True))[0]
    tensors = {name: tensor.astype(np.float64) for name, tensor in tensors.items()}
    cells, x = [np.zeros(config.architecture.model_dim)] * 6, np.zeros(config.architecture.model_dim)
    for step, piece in enumerate(made.ids):
        for number, layer in enumerate(LAYERS[layers]):
            own, others = parameters(tensors, layer, cell)
            more = (step + 1,) if cell == "average_attention" else ()
            x, cells[number] = getattr(paper, cell)(own, x, cells[number], *more)
            for norm in others:
                x = paper.layer_norm(x, **norm)
        expected = x @ tensors["embedding"].T + tensors["output.bias"]
        np.testing.assert_allclose(made.logits[step], expected, rtol=0, atol=2e-3)
        x = tensors["embedding"][piece]


@given(seeds, st.sampled_from([1.0, 7.0, 10.0]), st.integers(2, 60))
def test_eight_bits_saturate_at_the_same_ends(seed, sigmas, depth):
    """Our offset is a whole number of steps, so that 0 is exact; the document does not say whether theirs is."""
    weights = np.random.default_rng(seed).standard_t(3, (depth, 3)).astype(np.float32)
    integers, scales = offset_columns(weights, sigmas)
    for column, scale in enumerate(scales):
        expected = paper.eight_bits(weights[:, column].astype(np.float64), sigmas)
        np.testing.assert_allclose(scale * integers[:, column], expected, rtol=0, atol=1.01 * scale)


@given(seeds)
def test_four_bits_are_powers_of_two(seed):
    """The smallest of the eight magnitudes is 0 in our codebook."""
    weights = np.random.default_rng(seed).normal(0, 0.1, (64, 2)).astype(np.float32)
    levels, scales = codebook.quantize_columns(weights, log4.LEVELS)
    for column, scale in enumerate(64 * scales):
        found, values = scale / 64 * levels[:, column], weights[:, column]
        expected = paper.four_bits(values, scale)
        large = np.abs(values) > scale / 64
        np.testing.assert_allclose(found[large], expected[large], rtol=1e-6)
        np.testing.assert_array_less(np.abs(found - expected), 1.01 * scale / 128)


@given(seeds, st.lists(st.integers(0, 19), min_size=1, max_size=8))
def test_the_shortlist_has_75_common_pieces_and_75_translations_of_each(seed, sentence):
    shortlist, translations = random_shortlist(seed, 75, 75)
    expected = paper.shortlist([sentence], list(range(PIECES)), translations)
    found = shortlist.candidates(sentence, shared=False).tolist()
    assert set(expected) <= set(found) and len(found) < len(expected) + 8  # filled up to a multiple of 8


def test_million_words_for_a_dollar():
    printed = {982: 36.8, 1197: 44.9, 358: 13.4, 2668: 100, 3597: 135}  # words/s of Table 3, and papers' Figure 3
    for speed, millions in printed.items():
        assert paper.million_words_a_dollar(speed, 0.096) == pytest.approx(millions, abs=0.5)
        (row,) = cost.measure([{"name": "", "batches": {1: {"words_per_second": speed}}}], cost.PRICE)
        assert row["batches"][1] == pytest.approx(paper.million_words_a_dollar(speed, 0.096))
