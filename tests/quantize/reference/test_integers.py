"""8-bit products with the quantizer of Kim et al. 2019."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quantize.reference.integers import IntegerReference, offset_columns
from quantize.reference.network import Reference
from tests.sample_models.random_models import random_sources, random_tensors
from tests.sample_models.transformers import make_config


def defined(column, sigmas):
    """Returns what the integers of one column stand for, weight by weight."""
    values = [float(weight) for weight in column]
    mean = sum(values) / len(values)
    deviation = (sum((value - mean) ** 2 for value in values) / len(values)) ** 0.5
    low, high = (min(values), max(values)) if sigmas is None else (mean - sigmas * deviation, mean + sigmas * deviation)
    scale = (high - low) / 255
    offset = round(-low / scale)
    return [scale * (min(max(round(value / scale) + offset, 0), 255) - offset) for value in values]


@given(st.integers(0, 2**32 - 1), st.sampled_from([None, 1.0, 7.0]), st.integers(2, 60))
def test_columns_are_as_the_paper_defines_them(seed, sigmas, depth):
    weights = np.random.default_rng(seed).normal(0.01, 0.1, (depth, 3)).astype(np.float32)
    q, scales = offset_columns(weights, sigmas)
    for column in range(3):
        np.testing.assert_allclose(scales[column] * q[:, column], defined(weights[:, column], sigmas), rtol=1e-9)


def test_an_outlier_coarsens_a_column_from_minimum_to_maximum_and_saturates_at_seven_sigma():
    weights = np.random.default_rng(1).normal(0, 0.1, (1000, 1)).astype(np.float32)
    weights[3] = 8.0
    (clipped, fine), (whole, coarse) = offset_columns(weights), offset_columns(weights, None)
    assert fine < 0.6 * coarse and (whole * coarse)[3] == pytest.approx(8, abs=coarse[0])
    assert (clipped * fine)[3] < 3
    np.testing.assert_allclose((clipped * fine)[4:], weights[4:], atol=fine[0] / 2 + 1e-12)


@pytest.mark.parametrize("value", [0.0, -0.25])
def test_a_constant_column_is_exact(value):
    for sigmas in (7.0, None):
        q, scales = offset_columns(np.full((8, 1), value, np.float32), sigmas)
        assert (q * scales == value).all()


def test_products_are_of_integers_and_tables_stay_float32():
    config = make_config()
    tensors, source = random_tensors(config, 2), random_sources(2, config.vocab_size, 1)[0]
    heard = {}

    def columns(weights):
        heard[len(heard)] = weights
        return offset_columns(weights)

    exact, integers = Reference(config, tensors), IntegerReference(config, tensors, columns)
    states = [reference.start(reference.encode(source)) for reference in (exact, integers)]
    logits = [reference.step(state, [0])[0] for reference, state in zip((exact, integers), states, strict=True)]
    assert 0 < np.abs(logits[0] - logits[1]).max() < 0.2 * np.abs(logits[0]).max()
    assert all(weights is not tensors[table] for weights in heard.values() for table in integers.tables.values())
    x = np.random.default_rng(3).normal(0, 1, (2, config.architecture.model_dim)).astype(np.float32)
    table = integers.tables["output"]
    assert (integers.product(table, x) == exact.product(table, x)).all()


def test_a_product_is_that_of_what_the_integers_stand_for():
    config = make_config()
    tensors = random_tensors(config, 5)
    integers, name = IntegerReference(config, tensors, offset_columns), "encoder.0.self_attention.query.weight"
    x = np.random.default_rng(4).normal(0.3, 1, (3, config.architecture.model_dim)).astype(np.float32)
    rows = np.stack([defined(row, None) for row in x])
    weights = np.stack([defined(column, 7.0) for column in tensors[name].T], axis=1)
    np.testing.assert_allclose(integers.product(name, x), rows @ weights, rtol=1e-4, atol=1e-5)
