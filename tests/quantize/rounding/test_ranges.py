"""Ranges of columns: the properties of each kind of range."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.formats.conversion import QUANTIZERS
from cpunmt.layers.schemes import int8, int16
from quantize.rounding.ranges import Range, int8_scales, quantize

seeds = st.integers(0, 2**32 - 1)


def random_weights(seed, depth=96, columns=5, outliers=0):
    generator = np.random.default_rng(seed)
    weights = generator.standard_normal((depth, columns)) * generator.lognormal(-3, 3, columns)
    weights[:outliers] *= 30
    return weights.astype(np.float32)


def squared_error(weights, scales):
    return np.square(weights - int8.nearest(weights / scales) * scales.astype(np.float64)).sum(axis=0)


@given(seeds, st.integers(1, 200), st.integers(0, 2))
def test_the_least_squared_error_is_not_above_that_of_the_maximum(seed, depth, outliers):
    weights = random_weights(seed, depth, outliers=outliers)
    scales = int8_scales(weights, Range("mse"))
    widest = int8_scales(weights, Range("max"))
    assert scales.dtype == np.float32
    assert (squared_error(weights, scales) <= squared_error(weights, widest)).all()
    assert (scales <= widest).all() and (scales >= np.float32(0.39) * widest).all()


@pytest.mark.parametrize("seed", range(3))
def test_of_many_weights_the_largest_are_cut(seed):
    weights = random_weights(seed, 4000)
    least, widest = (squared_error(weights, int8_scales(weights, Range(kind))) for kind in ("mse", "max"))
    assert (least < widest).any()


@given(seeds, st.sampled_from([1.0, 2.5, 7.0]))
def test_sigma_and_max_are_those_of_the_scheme(seed, sigmas):
    weights = random_weights(seed, outliers=1)
    for chosen, expected in ((Range("sigma", sigmas), sigmas), (Range("max", sigmas), None)):
        q, scales = quantize(weights, "int8", chosen)
        same_q, same_scales = int8.quantize_columns(weights, expected)
        assert np.array_equal(q, same_q) and np.array_equal(scales, same_scales)


def test_the_default_is_the_maximum_and_sigma_means_seven():
    weights = random_weights(2, 1000, outliers=1)
    assert np.array_equal(quantize(weights, "int8", Range())[1], int8.quantize_columns(weights)[1])
    assert np.array_equal(quantize(weights, "int8", Range())[1], np.abs(weights).max(axis=0) / np.float32(127))
    assert np.array_equal(quantize(weights, "int8", Range("sigma"))[1], int8.quantize_columns(weights, 7.0)[1])


@pytest.mark.parametrize("kind", ["sigma", "max", "mse"])
@pytest.mark.parametrize("value", [0.0, 1e-45, 3e38])
def test_constant_columns(kind, value):
    q, scales = quantize(np.full((7, 2), value, np.float32), "int8", Range(kind))
    assert np.isfinite(scales).all() and (scales > 0).all()
    assert (np.abs(q.astype(int)) == (127 if value > 1 else 0)).all()


@pytest.mark.parametrize(
    ("scheme", "chosen", "expected"),
    [
        ("int16", Range(), int16.quantize_columns),
        ("int16", Range(fixed_point=True), int16.fixed_point),
        ("log4", Range(), QUANTIZERS["log4"]),
        ("log4", Range(per_tensor=True), lambda weights: QUANTIZERS["log4"](weights, per_tensor=True)),
        ("code4", Range("max"), QUANTIZERS["code4"]),
    ],
)
def test_other_schemes_have_ranges_of_their_own(scheme, chosen, expected):
    weights = random_weights(3)
    for ours, theirs in zip(quantize(weights, scheme, chosen), expected(weights), strict=True):
        assert ours.dtype == theirs.dtype and np.array_equal(ours, theirs)


def test_ranges_are_told_in_words():
    assert str(Range()) == "max" and str(Range("sigma")) == "min(max, 7 sigma)"
    told = str(Range("mse", per_tensor=True, fixed_point=True))
    assert told == "least squared error, 4 bits: one scale per matrix, 16 bits: fixed point"
