"""Stored weights as compiled code reads them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.errors import ModelFileError
from cpunmt.formats.conversion import packed_tensors
from cpunmt.kernels import records
from cpunmt.kernels.matmul.packing import unpack
from cpunmt.layers.filling import linear_weights, panel_sums, row_sums, table_weights
from cpunmt.layers.schemes.int16 import activation_reach
from cpunmt.model.config import SCHEMES
from cpunmt.model.tensors import Model, linears, table_sizes
from quantize.checkpoints.stored_weights import stored_linear, stored_table
from tests.sample_models.random_models import random_tensors
from tests.sample_models.transformers import make_config


@pytest.fixture(scope="module", params=SCHEMES)
def packed(request):
    config = make_config(tied_output=False)
    return packed_tensors(config, random_tensors(config, 1), request.param)


def test_linear_layers_are_what_was_stored(packed):
    config, tensors = packed
    for linear in linears(config):
        weights, stored = linear_weights(tensors, linear, config.scheme), stored_linear(config, tensors, linear)
        assert weights.scheme == records.MULTIPLIED[SCHEMES[config.scheme]]
        assert np.array_equal(unpack(weights.values, linear.columns), stored)
        assert (weights.sums is None) == (weights.scheme != records.INT8)
        if weights.sums is not None:
            assert np.array_equal(weights.sums[: linear.columns], stored.sum(axis=0))
            assert np.array_equal(weights.totals(), weights.scales * weights.sums.astype(np.float32))
        assert (weights.codes is None) == (config.scheme not in ("log4", "code4"))


def test_tables_are_what_was_stored(packed):
    config, tensors = packed
    for name in table_sizes(config):
        weights, stored = table_weights(tensors, name, config.scheme), stored_table(config, tensors, name)
        assert np.array_equal(weights.values, stored) and weights.values.flags.c_contiguous
        if name == "output" and weights.scheme == records.INT8:
            assert np.array_equal(weights.sums, stored.sum(axis=1, dtype=np.int64))


@pytest.mark.parametrize("name", ["decoder.0.feed_forward.outer", "encoder.1.self_attention.output", "embedding"])
@pytest.mark.parametrize("too_much", [0, 1])
def test_int16_weights_that_can_overflow_are_refused(name, too_much):
    config = make_config()
    config, tensors = packed_tensors(config, random_tensors(config, 1), "int16")
    depth = {linear.name: linear.depth for linear in linears(config)}.get(name, config.architecture.model_dim)
    weight = tensors[f"{name}.weight"] = tensors[f"{name}.weight"].copy()
    column = weight[1, :, 3, :] if name != "embedding" else weight[3]
    column[...], rest = divmod((2**31 - 1) // activation_reach(depth) + too_much, depth)
    column.flat[:rest] += 1
    if too_much:
        with pytest.raises(ModelFileError, match=f"{name}.weight: 16-bit weights whose sums can overflow"):
            Model(config, tensors)
    else:
        Model(config, tensors)


def test_floats_and_integers_of_the_file_are_not_copied():
    config = make_config()
    for scheme in ("int8", "int16", "float32"):
        config, tensors = packed_tensors(config, random_tensors(config, 1), scheme)
        for linear in linears(config):
            assert linear_weights(tensors, linear, scheme).values is tensors[f"{linear.name}.weight"]
        assert np.shares_memory(table_weights(tensors, "embedding", scheme).values, tensors["embedding.weight"])


@pytest.mark.parametrize("name", ["decoder.0.feed_forward.outer", "encoder.1.self_attention.output", "embedding"])
def test_int8_weights_that_paths_multiply_differently_are_refused(name):
    """-128, whose magnitude AVX2 uses; sums with a wrong offset, where there is one."""
    config = make_config()
    config, tensors = packed_tensors(config, random_tensors(config, 1), "int8")
    weight, sums = tensors[f"{name}.weight"], tensors[f"{name}.sums"]
    for change in (-1, 1):
        with pytest.raises(ModelFileError, match=f"^{name}.sums: not the sums of its weights"):
            Model(config, tensors | {f"{name}.sums": sums + np.int32(change) * (np.arange(len(sums)) == 5)})
    smallest = weight.copy()
    smallest.flat[7] = -128
    with pytest.raises(ModelFileError, match=f"^{name}.weight: an 8-bit weight of -128, expected -127 to 127"):
        Model(config, tensors | {f"{name}.weight": smallest})
    Model(config, tensors)


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 600))
@settings(max_examples=30)
def test_sums_are_exact_at_any_depth(seed, panels, groups):
    """They are added up in 16 bits, as far as they fit."""
    generator = np.random.default_rng(seed)
    low = int(generator.choice([-127, 120]))
    values = generator.integers(low, 128, (panels, groups, 16, 4), np.int8)
    assert np.array_equal(panel_sums(values), values.sum(axis=(1, 3), dtype=np.int64).reshape(-1))
    rows = values.reshape(panels * 16, -1)
    assert np.array_equal(row_sums(rows), rows.sum(axis=1, dtype=np.int64))


def test_a_weight_that_float16_does_not_hold_is_told():
    """It was once called infinite, and the checkpoint broken."""
    config = make_config()
    for name, tensor in (("embedding", "embedding"), ("encoder.0.feed_forward.inner",) * 2):
        tensors = random_tensors(config, 1)
        tensor = tensor if tensor in tensors else f"{tensor}.weight"
        tensors[tensor] = tensors[tensor].copy()
        tensors[tensor].flat[3] = -70000
        expected = f"^{name}: weights of up to 70000, but float16 holds none above 65504; .*--keep {name}=float32"
        with pytest.raises(ModelFileError, match=expected):
            packed_tensors(config, tensors, "float16")
        packed_tensors(config, tensors, "float16", schemes={name: "float32"})
