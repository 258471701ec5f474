"""Export: Marian's file and cpunmt's directory hold PyTorch's parameters, and translate alike."""

import numpy as np
import pytest
import torch

from cpunmt import Translator
from models.train.network.network import initial_tensors
from models.train.updates.configs import model_config
from models.train.updates.export import arrays_of, write_float32, write_npz
from quantize.reference.network import Reference
from tests.definitions.greedy import greedy
from tests.sample_models.marian_model import read_marian_npz


@pytest.mark.parametrize("cell", ["ssru", "sru", "self_attention", "average_attention"])
def test_names_are_all_that_changes(tmp_path, toy, cell):
    options = {"average_dim": 64} if cell == "average_attention" else {}
    config = toy.config.changed(cell=cell, **options)
    tensors = initial_tensors(config, 2)
    write_npz(tmp_path / "model.npz", config, tensors)
    found, arrays = read_marian_npz(tmp_path / "model.npz")
    assert found == config
    assert all(np.array_equal(arrays[name], tensor.numpy()) for name, tensor in tensors.items())
    assert arrays.keys() == tensors.keys()


def test_the_directory_translates_as_the_definition_does(tmp_path, toy):
    config = model_config("smoke", toy.config.vocab_size)
    tensors = initial_tensors(config, 3)
    generator = torch.Generator().manual_seed(1)
    for name, tensor in tensors.items():
        if name.endswith(".scale"):
            tensor.copy_(torch.randn(tensor.shape, generator=generator))
    write_float32(tmp_path / "model", config, tensors, toy.vocabulary)
    write_float32(tmp_path / "model", config, tensors, toy.vocabulary)  # replaces it
    translator, reference = Translator(tmp_path / "model"), Reference(config, arrays_of(tensors))
    for text in ("the dog sees the cat", "today the old man finds the bird"):
        ids = greedy(reference, translator.source_vocabulary.encode(text)).ids
        assert translator.translate(text).text == translator.target_vocabulary.decode(ids)
