"""Drawing translations by their probabilities."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch

from cpunmt.text.vocabularies.vocabulary import Vocabulary
from models.train.distillation.distillation import proposals, sentence_bleu
from models.train.distillation.sampling import noisy_pairs, sample
from models.train.network.families import network_of
from models.train.network.network import Network, torch_tensors
from quantize.reference.formulas import softmax
from quantize.reference.network import Reference
from tests.definitions.greedy import greedy
from tests.papers.definitions import ludicrously_fast as paper
from tests.sample_models.random_models import random_tensors
from tests.sample_models.recurrents import NAMED as RECURRENT
from tests.sample_models.recurrents import make_config as recurrent_config
from tests.sample_models.transformers import make_config

SOURCE = [5, 7, 0]


def test_first_pieces_come_as_often_as_they_are_probable():
    config = make_config(max_length_factor=1.0)
    tensors = random_tensors(config, 3)
    network, reference = Network(config, torch_tensors(tensors)), Reference(config, tensors)
    logits, _ = reference.step(reference.start(reference.encode(SOURCE)), [0])
    logits[0, config.unk_id] = -np.inf
    expected = softmax(logits[0].astype(np.float64))
    drawn = sample(network, [SOURCE] * 4000, torch.Generator().manual_seed(1))
    counts = Counter(ids[0] if ids else config.eos_id for ids in drawn)
    found = np.array([counts[piece] for piece in range(config.vocab_size)]) / len(drawn)
    assert np.abs(found - expected).max() < 5 * np.sqrt(expected.max() / len(drawn))
    assert max(map(len, drawn)) <= len(SOURCE)


COLD = {cell: make_config(cell=cell, max_length_factor=2.0) for cell in ("ssru", "self_attention")}
COLD["average_attention"] = make_config(cell="average_attention", average_dim=48, max_length_factor=2.0)
COLD |= {
    f"recurrent {name}": recurrent_config(max_length_factor=2.0, **RECURRENT[name])
    for name in ("plain", "stack", "recurrent top")
}


@pytest.mark.parametrize("name", COLD)
def test_cold_samples_are_greedy_translations(name):
    config = COLD[name]
    tensors = random_tensors(config, 4)
    network, reference = network_of(config, torch_tensors(tensors)), Reference(config, tensors)
    sources = [SOURCE, [9, 0], [3, 4, 5, 6, 8, 0]]
    drawn = sample(network, sources, torch.Generator().manual_seed(1), temperature=1e-4)
    for source, ids in zip(sources, drawn, strict=True):
        assert ids == [piece for piece in greedy(reference, source).ids if piece != config.eos_id]


def test_noisy_pairs_are_new_sources_of_the_same_targets(toy, student):
    network = Network(toy.config, toy.trainer("noise").updates.parameters)
    targets = [example.targets[0] for example in toy.data.train[0].examples[:4]]
    rows = noisy_pairs(network, student, Vocabulary(toy.vocabulary), targets, seed=1, beam_size=2)
    assert rows and {target for *_, target in rows} <= set(targets)
    assert all(source and translation for source, translation, _ in rows)
    assert rows == noisy_pairs(network, student, Vocabulary(toy.vocabulary), targets, seed=1, beam_size=2)
    assert rows != noisy_pairs(network, student, Vocabulary(toy.vocabulary), targets, seed=2, beam_size=2)


def test_the_noisy_set_of_several_inverse_teachers_is_the_papers(toy, student):
    """Cold samples, which do not depend on chance, of two inverse teachers."""
    vocabulary = Vocabulary(toy.vocabulary)
    parameters = toy.trainer("noisy set").updates.parameters
    short = replace(toy.config, max_length_factor=0.2)  # the teacher ends the translations of short sources
    inverses = [Network(short, {name: sign * tensor for name, tensor in parameters.items()}) for sign in (1, -1)]
    pairs = [(example.sources[0], example.targets[0]) for example in toy.data.train[0].examples[:4]]

    def sampling(network):
        return lambda target: vocabulary.decode(
            sample(network, vocabulary.encode_batch([target]), torch.Generator(), temperature=1e-4)[0]
        ).strip()

    def forward(source, target):
        return paper.interpolated(proposals(student, [source], 8)[0], target, lambda a, b: sentence_bleu(a, (b,)))

    targets = [target for _, target in pairs]
    ours = [noisy_pairs(network, student, vocabulary, targets, 1, 8, temperature=1e-4) for network in inverses]
    noisy = [(source, translation) for rows in ours for source, translation, _ in rows]
    assert [*pairs, *noisy] == paper.noisy_set(pairs, list(map(sampling, inverses)), forward)
    assert len(noisy) == 2 * len(pairs)
