"""Packed tensors are the checkpoint's: the expected names, types and shapes, and values that come back."""

import numpy as np
import pytest

from cpunmt.kernels.matmul.packing import unpack
from cpunmt.layers.schemes.int8 import quantize_columns
from cpunmt.model.tensors import checkpoint_tensors, expected_tensors, linears, norms
from quantize.checkpoints.layer_errors import REACH, layer_error, pack_tensors
from quantize.rounding.ranges import Range, quantize
from tests.sample_models.random_models import random_checkpoint

SIZES = [
    {"d": 32, "f": 64, "heads": 2, "enc": 2, "dec": 2, "vocab": 96},
    {"d": 48, "f": 16, "heads": 1, "enc": 1, "dec": 2, "vocab": 33, "tied_layers": (1, 1)},
]


@pytest.fixture(params=SIZES, ids=["untied", "tied"], scope="module")
def checkpoint(request):
    return random_checkpoint(1, **request.param)


def concatenated(tensors, linear):
    """(weights [depth, columns], bias [columns]) that a packed linear layer is made of."""
    weights = np.concatenate([tensors[weight] for weight, _ in linear.parts], axis=1)
    parts = zip(linear.parts, linear.widths, strict=True)
    bias = np.concatenate([tensors[name] if name else np.zeros(width) for (_, name), width in parts])
    return weights, bias


@pytest.mark.parametrize("scheme", ["float32", "int8"])
def test_names_types_shapes_and_order(checkpoint, scheme):
    config, packed, _ = pack_tensors(*checkpoint, scheme)
    assert config.scheme == scheme
    expected = expected_tensors(config)
    assert list(packed) == list(expected)
    for name, (dtype, shape) in expected.items():
        assert packed[name].dtype == dtype and packed[name].shape == shape, name
        assert packed[name].flags.c_contiguous, name


def test_float32_values_come_back(checkpoint):
    config, tensors = checkpoint
    _, packed, errors = pack_tensors(config, tensors, "float32")
    assert not errors
    for linear in linears(config):
        weights, bias = concatenated(tensors, linear)
        assert np.array_equal(unpack(packed[f"{linear.name}.weight"], linear.columns), weights)
        made = packed[f"{linear.name}.bias"]
        assert np.array_equal(made[: linear.columns], bias) and not made[linear.columns :].any()
    assert np.array_equal(packed["embedding.weight"], tensors["embedding"])


def test_int8_values_are_those_of_quantize_columns(checkpoint):
    config, tensors = checkpoint
    _, packed, errors = pack_tensors(
        config, tensors, "int8", quantizer=lambda _, *matrix: quantize(*matrix, Range("sigma", 3.0))
    )
    assert [error.name for error in errors] == ["embedding", *(linear.name for linear in linears(config))]
    for linear, error in zip(linears(config), errors[1:], strict=True):
        weights, bias = concatenated(tensors, linear)
        q, scales = quantize_columns(weights, 3.0)
        made, columns = unpack(packed[f"{linear.name}.weight"], linear.columns), linear.columns
        assert np.array_equal(made, q)
        assert np.array_equal(packed[f"{linear.name}.scale"][:columns], scales)
        assert np.array_equal(packed[f"{linear.name}.sums"][:columns], q.sum(axis=0, dtype=np.int32))
        assert np.array_equal(packed[f"{linear.name}.bias"][:columns], bias)
        exact = scales.astype(np.float64)
        assert error == layer_error(linear.name, "int8", weights, q * exact, REACH["int8"] * exact)
    q, scales = quantize_columns(tensors["embedding"].T, 3.0)  # one scale per piece
    assert np.array_equal(packed["embedding.weight"], q.T)
    assert np.array_equal(packed["embedding.scale"], scales)
    assert np.array_equal(packed["embedding.sums"], q.sum(axis=0, dtype=np.int32))


def test_a_scheme_per_matrix_and_what_each_lost(checkpoint):
    config, tensors = checkpoint
    schemes = {
        "embedding": "code4",
        "encoder.0.self_attention.output": "int16",
        "encoder.0.feed_forward.inner": "float16",
    }
    config, packed, errors = pack_tensors(config, tensors, "int8", schemes=schemes)
    assert dict(config.schemes) == schemes and list(packed) == list(expected_tensors(config))
    found = {error.name: error for error in errors}
    assert "encoder.0.feed_forward.inner" not in found  # no integers
    assert {error.scheme for error in errors} == {"int8", "code4", "int16"}
    levels = [
        found[name].signal_to_noise for name in ("embedding", "encoder.0.feed_forward.outer", *list(schemes)[1:2])
    ]
    assert 15 < levels[0] < 25 < 35 < levels[1] < 55 < levels[2]


def test_a_quantizer_of_the_callers_decides_and_is_measured(checkpoint):
    config, tensors = checkpoint
    called = []

    def quantizer(name, weights, scheme):
        called.append((name, weights.shape, scheme))
        return np.zeros(weights.shape, np.int8), np.ones(weights.shape[1], np.float32)

    _, packed, errors = pack_tensors(config, tensors, "int8", quantizer=quantizer)
    assert [(error.name, error.shape, error.scheme) for error in errors] == called
    assert all(error.signal_to_noise == 0 for error in errors)
    assert not packed["embedding.weight"].any()


@pytest.mark.parametrize("scheme", ["float32", "int8"])
def test_norms_and_output_bias_are_kept(checkpoint, scheme):
    config, tensors = checkpoint
    _, packed, _ = pack_tensors(config, tensors, scheme)
    for name in ["output.bias", *(f"{norm}.{part}" for norm in norms(config) for part in ("scale", "bias"))]:
        assert np.array_equal(packed[name], tensors[name]), name


def test_an_unknown_scheme_is_refused(checkpoint):
    with pytest.raises(ValueError, match="scheme is 'int9', expected one of int8, int16, log4, code4, "):
        pack_tensors(*checkpoint, "int9")


def test_missing_tensors_are_named(checkpoint):
    config, tensors = checkpoint
    name = list(checkpoint_tensors(config))[3]
    with pytest.raises(ValueError, match=f"lacks {name}"):
        pack_tensors(config, {key: value for key, value in tensors.items() if key != name}, "int8")
