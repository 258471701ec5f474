"""Stored matrices as numbers again, in every form of storage."""

import numpy as np
import pytest

from cpunmt.formats.conversion import QUANTIZERS, packed_tensors
from cpunmt.kernels.matmul.packing import pack, padded
from cpunmt.model.config import SCHEMES
from cpunmt.model.tensors import linears, matrices, table_sizes
from quantize.checkpoints.stored_weights import stored_bytes, stored_matrix
from tests.sample_models.random_models import random_checkpoint
from tests.support.float_steps import UNIT

LARGEST = {"int8": 127.5, "int16": 32767.5, "log4": 64 + 16, "code4": 127 + 15.5}  # rounded up to here


@pytest.fixture(scope="module")
def checkpoint():
    return random_checkpoint(3)


def originals(config, tensors):
    """Yields (layer, the checkpoint's weights [in, out]) of each."""
    found = [(name, tensors[name].T) for name in table_sizes(config)]
    for linear in linears(config):
        found.append((linear, np.concatenate([tensors[weight] for weight, _ in linear.parts], axis=1)))
    return found


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_comes_back_as_what_quantization_made_of_it(checkpoint, scheme):
    config, tensors = checkpoint
    layers = originals(config, tensors)
    config, packed = packed_tensors(config, tensors, scheme)
    assert len(layers) == len(matrices(config)) > 10
    for layer, weights in layers:
        found = stored_matrix(config, packed, layer)
        assert found.scheme == scheme and found.weights.shape == weights.shape
        if scheme in QUANTIZERS:
            q, scales = QUANTIZERS[scheme](weights)
            assert np.array_equal(found.weights, q * scales.astype(np.float64))
            assert np.array_equal(found.reach, LARGEST[scheme] * scales.astype(np.float64))
        else:
            assert np.array_equal(found.weights, weights.astype(scheme)) and (found.reach == np.inf).all()
            assert len(found.reach) == weights.shape[1]


def test_columns_that_fill_a_panel_are_left_out(checkpoint):
    weights = np.random.default_rng(1).standard_normal((16, 5)).astype(np.float32)
    q, scales = QUANTIZERS["int8"](weights)
    config, _ = packed_tensors(*checkpoint, "int8")
    linear = linears(config)[0]._replace(name="x", widths=(5,))
    tensors = {"x.weight": pack(q), "x.scale": padded(scales)}
    assert np.array_equal(stored_matrix(config, tensors, linear).weights, q * scales.astype(np.float64))


@pytest.mark.parametrize("scheme", ["int8", "log4"])
def test_static_scales_are_those_of_the_weights_times_that_of_the_activations(checkpoint, scheme):
    config, tensors = checkpoint
    alphas = {name: 8.0 for linear in linears(config) for name, _ in linear.parts}
    alphas |= dict.fromkeys(table_sizes(config), 8.0)
    static, with_alphas = packed_tensors(config, tensors, scheme, alphas=alphas)
    assert static.activation_scales == "static"
    plain, without = packed_tensors(config, tensors, scheme)
    for layer in [*table_sizes(config), *linears(config)]:
        expected, found = stored_matrix(plain, without, layer), stored_matrix(static, with_alphas, layer)
        assert np.allclose(found.weights, expected.weights, rtol=8 * UNIT, atol=0)
        assert np.allclose(found.reach, expected.reach, rtol=8 * UNIT, atol=0)


def test_bytes_are_those_of_all_tensors_of_a_layer_and_of_no_other(checkpoint):
    config, packed = packed_tensors(*checkpoint, "int8")
    rest = sum(tensor.nbytes for key, tensor in packed.items() if "norm" in key or key == "output.bias")
    assert sum(stored_bytes(packed, name) for name in matrices(config)) + rest == sum(t.nbytes for t in packed.values())
    linear = linears(config)[0]
    assert stored_bytes(packed, linear.name) == linear.depth * linear.columns + 12 * linear.columns
