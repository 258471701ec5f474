"""Layers behind a ReLU have a second layout of their weights, with the same results."""

import numpy as np
import pytest

from cpunmt.engine.engine import Engine
from cpunmt.formats.conversion import packed_tensors
from cpunmt.formats.packed.packed_directory import read_directory
from cpunmt.kernels import records
from cpunmt.kernels.matmul.packing import by_depth, panels
from cpunmt.model.tensors import Model, linears, second_layout_bytes
from cpunmt.search.settings import Search
from tests.sample_models.random_models import random_sources, random_tensors
from tests.sample_models.real_model import SHIPPED, sources
from tests.sample_models.transformers import make_config

INNER = ("feed_forward.outer", "feed_forward.middle.0", "feed_forward.middle.1")
CONFIGS = {
    "relu": ({"ffn_depth": 4, "decoder_ffn_depth": 3}, INNER),
    "tied": ({"decoder_parameters": (0, 0, 0)}, ("feed_forward.outer",)),
    "swish": ({"activation": "swish"}, ()),
    "ssru and its projection": ({"cell_projection": True, "activation": "gelu"}, ("cell.output",)),
    "gru and its projection": ({"cell": "gru", "cell_projection": True, "activation": "gelu"}, ()),
    "average": (
        {"cell": "average_attention", "average_dim": 48, "average_activation": "relu", "activation": "swish"},
        ("cell.outer",),
    ),
    "average of one width, and a gate": (
        {
            "cell": "average_attention",
            "average_dim": 32,
            "average_gate": True,
            "average_activation": "relu",
            "activation": "swish",
        },
        ("cell.forget_gate",),
    ),
    "average of one layer": (
        {"cell": "average_attention", "average_dim": 32, "average_depth": 1, "average_activation": "relu"},
        ("feed_forward.outer",),
    ),
}


def layers_of(model):
    """Returns all existing LINEAR records of the layers of a model, middle ones included."""
    found = []

    def walk(record):
        for name in record.dtype.names:
            if record.dtype[name] == records.LINEAR:
                found.append(record[name])
            elif record.dtype[name].names:
                walk(record[name])

    for array in model.network._filler._kept:
        if array.dtype == records.LINEAR:
            found += list(array)
        elif array.dtype.names:
            for record in array:
                walk(record)
    return [layer for layer in found if layer["panels"]]


def engine(config, tensors, scheme, second=True):
    model = Model(*packed_tensors(config, tensors, scheme))
    if not second:
        for layer in layers_of(model):
            layer["by_depth"] = 0
    return Engine(model)


@pytest.mark.parametrize("name", CONFIGS)
def test_it_is_the_layers_behind_a_relu(name):
    options, expected = CONFIGS[name]
    config = make_config(**options)
    found = [layer for layer in linears(config) if layer.rectified]
    assert {layer.name.split(".", 2)[2] for layer in found} == set(expected)
    model = Model(*packed_tensors(config, random_tensors(config, 1), "int8"))
    sizes = sorted((layer.depth, panels(layer.columns)) for layer in found)
    have = [layer for layer in layers_of(model) if layer["by_depth"]]
    assert sorted((int(layer["depth"]), int(layer["panels"])) for layer in have) == sizes
    assert all(layer["sparse_start"] for layer in have)


def test_the_first_layer_prefetches_the_weights_of_the_second():
    """Only if the two are adjacent."""
    for options, expected in (({}, 4), ({"ffn_depth": 3}, 2), ({"activation": "swish"}, 0)):
        config = make_config(**options)
        layers = layers_of(Model(*packed_tensors(config, random_tensors(config, 1), "int8")))
        second = {int(layer["by_depth"]): int(layer["depth"] * layer["panels"] * 16) for layer in layers}
        told = [layer for layer in layers if layer["next"]]
        assert len(told) == expected
        assert all(second[int(layer["next"])] == layer["next_bytes"] > 0 for layer in told)


@pytest.mark.parametrize("scheme", ["int16", "float32"])
def test_other_schemes_have_none(scheme):
    config = make_config()
    model = Model(*packed_tensors(config, random_tensors(config, 1), scheme))
    assert not any(layer["by_depth"] for layer in layers_of(model))
    assert second_layout_bytes(model.config) == 0


@pytest.mark.parametrize("scheme", ["int8", "code4"])
@pytest.mark.parametrize("name", CONFIGS)
def test_what_the_second_layouts_take_is_told(name, scheme):
    """Tied layers share one."""
    config = make_config(**CONFIGS[name][0])
    model = Model(*packed_tensors(config, random_tensors(config, 1), scheme))
    places = {int(layer["by_depth"]) for layer in layers_of(model)}
    made = {array.ctypes.data: array.nbytes for array in model.network._filler._kept if array.dtype == np.int8}
    assert second_layout_bytes(model.config) == sum(made[place] for place in places if place)


@pytest.mark.parametrize("scheme", ["int8", "code4"])
@pytest.mark.parametrize("name", CONFIGS)
def test_translations_are_the_same_bits(name, scheme):
    config = make_config(**CONFIGS[name][0])
    tensors, given = random_tensors(config, 2), random_sources(2, config.source_size, 12)
    search = Search(3, 3, token_log_probs=True, attention=True)
    sparse, dense = (engine(config, tensors, scheme, second) for second in (True, False))
    for part in (given, given[:1], given[1:2]):
        made, expected = (found.translate(part, [12] * len(part), search) for found in (sparse, dense))
        assert _said(made) == _said(expected)


def _said(translations):
    return [
        (h.ids, h.log_prob, h.score, h.token_log_probs, h.attention.tobytes()) for found in translations for h in found
    ]


def test_a_trained_model_reads_the_second_layout():
    """Its translations change if this layout changes, one at a time and in bulk: activations are mostly zeros."""
    packed = read_directory(SHIPPED)
    given = list(sources(20))
    model = Model(packed.config, packed.tensors)
    translator, limits = Engine(model), [40] * len(given)

    def scores():
        alone = [translator.translate([source], [40])[0][0].score for source in given[:3]]
        return alone, [found[0].score for found in translator.translate(given, limits)]

    before = scores()
    layers = [layer for layer in layers_of(model) if layer["by_depth"]]
    shape = (packed.config.architecture.ffn_dim // 4, 16, 4)
    nothing = by_depth(np.zeros((panels(packed.config.architecture.model_dim), *shape), np.int8))
    for layer in layers:
        layer["by_depth"] = nothing.ctypes.data
    changed = scores()
    assert len(layers) == packed.config.architecture.encoder_layers + packed.config.architecture.decoder_sets
    for old, new in zip(before, changed, strict=True):
        assert not set(old) & set(new)
