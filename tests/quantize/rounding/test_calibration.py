"""Calibration records the inputs of the network's matrices, of every architecture."""

import math

import numpy as np
import pytest

from cpunmt.model.tensors import linears, output_table
from quantize.reference.network import Reference
from quantize.rounding.calibration import greedy_translations, input_statistics
from tests.definitions.beam_search import beam_search
from tests.sample_models.architectures import NAMED
from tests.sample_models.random_models import random_shortlist, random_sources, random_tensors
from tests.sample_models.transformers import make_config


class Listening(Reference):
    """A recorder of every input, one sentence at a time."""

    def __init__(self, config, tensors):
        super().__init__(config, tensors)
        self.heard = {}

    def product(self, name, x):
        self.heard.setdefault(name, []).append(x)
        return super().product(name, x)


def inputs_reference(config, tensors, sources, targets):
    """Returns name of each linear layer, and of the output table -> all its inputs."""
    network = Listening(config, tensors)
    for source, target in zip(sources, targets, strict=True):
        state = network.start(network.encode(source))
        for previous in [0, *target[:-1]]:
            _, state = network.step(state, [previous])
    names = {linear.name: linear.parts[0][0] for linear in linears(config)} | {
        output_table(config): output_table(config)
    }
    return {name: np.concatenate(network.heard[weight]) for name, weight in names.items()}


@pytest.mark.parametrize("name", NAMED)
def test_statistics_are_those_of_all_inputs(name):
    config = NAMED[name]
    tensors = random_tensors(config, 4)
    sources = random_sources(3, config.source_size, 12, longest=9)
    targets = greedy_translations(config, tensors, sources)
    done = []
    found = input_statistics(config, tensors, sources, targets, done.append)
    expected = inputs_reference(config, tensors, sources, targets)
    assert found.keys() == expected.keys() and sum(done) == len(sources)
    for layer, x in expected.items():
        moments, maxima = found[layer]
        assert moments.dtype == np.float32 and moments.shape == (x.shape[1], x.shape[1]) and len(maxima) == len(x)
        exact = x.astype(np.float64).T @ x / len(x)
        assert np.allclose(moments, exact, rtol=0, atol=1e-4 * np.trace(exact) / len(exact)), layer
        assert np.allclose(np.sort(maxima), np.sort(np.abs(x).max(axis=1)), rtol=1e-4, atol=1e-5), layer


def test_many_sentences_and_rows_are_summed_in_parts(monkeypatch):
    config = make_config()
    tensors = random_tensors(config, 4)
    sources = random_sources(3, config.source_size, 12, longest=9)
    targets = greedy_translations(config, tensors, sources)
    whole = input_statistics(config, tensors, sources, targets)
    monkeypatch.setattr("quantize.rounding.calibration._ROWS", 7)
    monkeypatch.setattr("quantize.reference.inputs._SENTENCES", 5)
    for name, statistics in input_statistics(config, tensors, sources, targets).items():
        assert np.allclose(statistics.moments, whole[name].moments, rtol=1e-4, atol=1e-4)
        assert np.allclose(np.sort(statistics.maxima), np.sort(whole[name].maxima), rtol=1e-4)


@pytest.mark.parametrize("with_shortlist", [False, True])
def test_translations_are_greedy_ones(with_shortlist):
    config = make_config()
    tensors = random_tensors(config, 4)
    sources = random_sources(3, config.source_size, 8, longest=9)
    shortlist = random_shortlist(1, config.vocab_size, first=8) if with_shortlist else None
    found = greedy_translations(config, tensors, sources, shortlist)
    expected = []
    for source in sources:
        candidates = shortlist.candidates(source, True) if with_shortlist else None
        limit = math.ceil(config.max_length_factor * len(source))
        made = beam_search(Reference(config, tensors), source, limit, candidates=candidates)[0]
        expected.append(made.ids[: len(source)] if made.truncated else made.ids)
    assert found == expected
    if with_shortlist:
        assert found != greedy_translations(config, tensors, sources)


def test_of_a_translation_that_never_ends_a_part_is_kept():
    config = make_config()
    tensors = random_tensors(config, 4)
    tensors["output.bias"][config.eos_id] = -1e4
    sources = random_sources(3, config.source_size, 8, longest=9)
    assert [len(ids) for ids in greedy_translations(config, tensors, sources)] == [len(source) for source in sources]
