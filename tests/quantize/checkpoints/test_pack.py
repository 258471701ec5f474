"""Packed tensors match the checkpoint's: the expected names, types and shapes, and values."""

import numpy as np
import pytest

from cpunmt.kernels.matmul.packing import unpack
from cpunmt.model.tensors import checkpoint_tensors, expected_tensors, linears, norms
from quantize.checkpoints.layer_errors import pack_tensors
from tests.sample_models.random_models import random_checkpoint

SIZES = [
    {"d": 32, "f": 64, "heads": 2, "enc": 2, "dec": 2, "vocab": 96},
    {"d": 48, "f": 16, "heads": 1, "enc": 1, "dec": 2, "vocab": 33, "tied_layers": (1, 1)},
]


@pytest.fixture(params=SIZES, ids=["untied", "tied"], scope="module")
def checkpoint(request):
    return random_checkpoint(1, **request.param)


@pytest.mark.parametrize("scheme", ["float32", "int8"])
def test_names_types_shapes_and_order(checkpoint, scheme):
    config, packed, _ = pack_tensors(*checkpoint, scheme)
    assert config.scheme == scheme
    expected = expected_tensors(config)
    assert list(packed) == list(expected)
    for name, (dtype, shape) in expected.items():
        assert packed[name].dtype == dtype and packed[name].shape == shape, name
        assert packed[name].flags.c_contiguous, name
    for name in ["output.bias", *(f"{norm}.{part}" for norm in norms(config) for part in ("scale", "bias"))]:
        assert np.array_equal(packed[name], checkpoint[1][name]), name
    if scheme == "int8":
        for linear in linears(config):
            q = unpack(packed[f"{linear.name}.weight"], linear.columns)
            assert np.array_equal(packed[f"{linear.name}.sums"][: linear.columns], q.sum(axis=0, dtype=np.int32))
        assert np.array_equal(packed["embedding.sums"], packed["embedding.weight"].T.sum(axis=0, dtype=np.int32))


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


def test_an_unknown_scheme_is_refused_and_missing_tensors_are_named(checkpoint):
    with pytest.raises(ValueError, match="scheme is 'int9', expected one of int8, int16, log4, code4, "):
        pack_tensors(*checkpoint, "int9")
    config, tensors = checkpoint
    name = list(checkpoint_tensors(config))[3]
    with pytest.raises(ValueError, match=f"lacks {name}"):
        pack_tensors(config, {key: value for key, value in tensors.items() if key != name}, "int8")
