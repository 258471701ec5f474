"""Static activation scales: every product uses its own, in any architecture."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.errors import ModelFileError
from cpunmt.formats.conversion import packed_tensors
from cpunmt.layers.schemes.int8 import STATIC_OFFSET, static_scales
from cpunmt.model.tensors import linears, matrices, output_table
from tests.architectures.comparison import compare_packed
from tests.definitions.beam_search import beam_search
from tests.golden.bergamot_int8 import Calibrating
from tests.sample_models import recurrents
from tests.sample_models.random_models import random_sources, random_tensors
from tests.sample_models.transformers import NAMED, configs, make_config


def observed_alphas(config, tensors, sources):
    """Returns 127 over 0.8 times the largest activation, equal for products of one input; clips some values."""
    network = Calibrating(config, tensors)
    for source in sources:
        beam_search(network, source, 8)
    groups = [[weight for weight, _ in linear.parts] for linear in linears(config)] + [[output_table(config)]]
    found = {}
    for weights in groups:
        largest = max(0.01, *(max(network.largest[weight]) for weight in weights))
        found |= dict.fromkeys(weights, 127 / (0.8 * largest))
    return found


def check(config, seed, scheme="int8", schemes=None, near=1e-3):
    tensors = random_tensors(config, seed)
    sources = random_sources(seed, config.source_size, 6, longest=12)
    alphas = observed_alphas(config, tensors, sources)
    packed = packed_tensors(config, tensors, scheme, schemes=schemes, alphas=alphas)
    compare_packed(packed, sources, near, least=4)


@pytest.mark.parametrize("name", NAMED)
def test_a_named_architecture(name):
    check(make_config(**NAMED[name]), 3)


@pytest.mark.parametrize("name", recurrents.NAMED)
def test_a_named_recurrent_network(name):
    """The scale applies to quantized contexts, not to the encoded words that they are computed from."""
    check(recurrents.make_config(**recurrents.NAMED[name]), 3, near=5e-3)


@pytest.mark.parametrize("decoder_parameters", [(0, 0), (0, 1, 0), (0, 0, 1, 1)])
def test_layers_that_share_parameters_have_readers_of_different_scales(decoder_parameters):
    for seed in range(3):
        check(make_config(decoder_parameters=decoder_parameters), seed)


@given(configs(), st.integers(0, 2**32 - 1))
@settings(max_examples=15, derandomize=True)  # `check` usually holds, not always: fixed models
def test_any_architecture(config, seed):
    check(config, seed)


def test_4_bits_and_layers_that_have_no_8_bit_activations():
    config = make_config(decoder_parameters=(0, 1, 0))
    check(config, 4, "code4")
    others = {name: "int16" if ".cell." in name else "float32" for name in matrices(config) if "decoder" in name}
    check(config, 4, "int8", others)
    check(config, 4, "int8", {"embedding": "int16"})


@given(st.integers(0, 2**32 - 1), st.integers(1, 300), st.floats(0.1, 100), st.floats(1, 1e4))
def test_the_bias_takes_the_offset_back(seed, depth, alpha, multiplier):
    """Up to the rounding of three numbers, two of which may be large and of opposite sign."""
    generator = np.random.default_rng(seed)
    q, w = generator.integers(-127, 128, (5, depth)), generator.integers(-127, 128, (depth, 7))
    bias = generator.normal(size=7).astype(np.float32)
    sums = w.sum(axis=0, dtype=np.int32)
    scale, shifted = static_scales(sums, np.full(7, multiplier), alpha, bias)
    assert scale.dtype == shifted.dtype == np.float32
    made = ((q + STATIC_OFFSET) @ w).astype(np.float32) * scale + shifted
    factor = 1 / (alpha * multiplier)
    largest = np.abs((q + STATIC_OFFSET) @ w).max() * factor + np.abs(sums).max() * 127 * factor + np.abs(bias).max()
    assert np.abs(made - (q @ w * factor + bias)).max() <= 8 * 2.0**-24 * largest


def test_a_weight_without_a_scale_is_named():
    config = make_config()
    tensors = random_tensors(config, 1)
    alphas = observed_alphas(config, tensors, random_sources(1, config.source_size, 2))
    name = "encoder.1.self_attention.key.weight"
    with pytest.raises(ModelFileError, match=f"{name} lacks one; load with activation_scales='dynamic'"):
        packed_tensors(config, tensors, "int8", alphas={k: v for k, v in alphas.items() if k != name})
    with pytest.raises(ModelFileError, match="for one input"):
        packed_tensors(config, tensors, "int8", alphas=alphas | {name: 0.5})
