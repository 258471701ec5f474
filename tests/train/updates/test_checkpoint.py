"""A run on disk."""

import numpy as np
import pytest
import torch

from cpunmt.errors import ModelFileError
from cpunmt.formats.packed.safetensors_file import write_safetensors
from models.train.updates import checkpoint
from models.train.updates.checkpoint import FILE, Checkpoint


def make() -> Checkpoint:
    kinds = ("parameters", "means", "adam_mean", "adam_square")
    tensors = {kind: {"a.b": torch.full((2, 3), float(i)), "c": torch.ones(i + 1)} for i, kind in enumerate(kinds)}
    return Checkpoint(tensors, torch.get_rng_state(), {"update": 3, "place": [1, 2], "text": "ü"})


def test_it_comes_back(tmp_path):
    saved = make()
    assert checkpoint.load(tmp_path) is None
    checkpoint.save(tmp_path, saved)
    found = checkpoint.load(tmp_path)
    assert found.state == saved.state and torch.equal(found.random, saved.random)
    for kind, tensors in saved.tensors.items():
        assert list(found.tensors[kind]) == list(tensors)
        assert all(torch.equal(found.tensors[kind][name], tensor) for name, tensor in tensors.items())
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


def test_what_cannot_be_written_leaves_the_old_one(tmp_path):
    checkpoint.save(tmp_path, make())
    broken = make()
    broken.tensors["means"]["c"][0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        checkpoint.save(tmp_path, broken)
    assert checkpoint.load(tmp_path).state == make().state
    assert [path.name for path in tmp_path.iterdir()] == [FILE]
    (tmp_path / FILE).write_bytes((tmp_path / FILE).read_bytes()[:-64])
    with pytest.raises(ModelFileError, match=FILE):
        checkpoint.load(tmp_path)
    (tmp_path / FILE).unlink()
    write_safetensors(tmp_path / FILE, {"embedding": np.ones(3, np.float32)})
    with pytest.raises(ModelFileError, match="no checkpoint of a training run"):
        checkpoint.load(tmp_path)
