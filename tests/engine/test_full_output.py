"""The output layer over a whole vocabulary: packed part by part, it is that of one piece."""

import ctypes

import numpy as np
import pytest

from cpunmt.engine import full_output, program
from cpunmt.formats.conversion import packed_tensors
from cpunmt.kernels import records
from cpunmt.model import tensors
from cpunmt.model.tensors import Model
from tests.sample_models.random_models import random_tensors
from tests.sample_models.transformers import make_config

DEPTH = 32


def bytes_of(model):
    """Returns the bytes of all arrays of the packed layer, by name."""
    made = full_output.packed(model, program.load())  # owns the memory
    layer = made.record[0]
    columns = 16 * int(layer["panels"])
    sizes = dict.fromkeys(("scales", "start", "totals", "bias"), 4 * columns)
    sizes["weights"] = columns * DEPTH * records.WEIGHT_BYTES[int(layer["scheme"])]
    sizes["codes"] = columns * DEPTH // 2
    return {name: ctypes.string_at(int(layer[name]), size) for name, size in sizes.items() if layer[name]}


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("scheme", ["int8", "int16", "float32", "code4"])
@pytest.mark.parametrize("pieces", [48, 75])
def test_parts_make_the_same_layer(scheme, alone, pieces, monkeypatch):
    monkeypatch.setattr(tensors, "LARGE", 0 if alone else tensors.LARGE)
    config = make_config(vocab_size=pieces, model_dim=DEPTH)
    model = Model(*packed_tensors(config, random_tensors(config, 1), scheme))
    whole = bytes_of(model)
    assert ("codes" in whole) == (scheme == "code4") and ("weights" in whole) == (scheme != "code4" or not alone)
    monkeypatch.setattr(full_output, "AT_ONCE", 2)
    parts = bytes_of(model)
    used = set(whole) & set(USED[scheme])
    assert {name: parts[name] for name in used} == {name: whole[name] for name in used} and used


USED = {
    "float32": ("weights", "bias"),
    "int16": ("weights", "bias", "scales"),
    **dict.fromkeys(("int8", "code4"), ("weights", "codes", "bias", "scales", "start", "totals")),
}


def test_the_rows_of_codes_alone_are_decoded_for_searches_that_read_some(monkeypatch):
    monkeypatch.setattr(tensors, "LARGE", 0)
    config = make_config(vocab_size=75, model_dim=DEPTH)
    packed = packed_tensors(config, random_tensors(config, 1), "code4")
    alone = Model(*packed)
    assert alone.record[0]["output"]["rows"] == 0
    full_output.reserve_entries(alone)
    monkeypatch.undo()
    both = Model(*packed)
    rows, expected = (ctypes.string_at(int(model.record[0]["output"]["rows"]), 75 * DEPTH) for model in (alone, both))
    assert rows == expected and np.frombuffer(rows, np.int8).any()
