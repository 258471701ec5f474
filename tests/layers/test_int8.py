"""int8 weights: ranges, rounding, clipping."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.layers.schemes.int8 import quantize_columns
from tests.support.float_steps import TINY, UNIT

seeds = st.integers(0, 2**32 - 1)
FLOATS = st.floats(-(2.0**120), 2.0**120, width=32)


def random_weights(seed, depth=64, columns=8, outliers=0):
    """Draws columns of very different size; `outliers` weights in each are 100 deviations large."""
    generator = np.random.default_rng(seed)
    weights = generator.standard_normal((depth, columns)) * generator.lognormal(-3, 3, columns)
    weights[:outliers] *= 100
    return weights.astype(np.float32)


@given(seeds, st.integers(1, 200), st.integers(1, 20), st.sampled_from([None, 1.0, 3.0, 7.0]), st.integers(0, 2))
@settings(deadline=None)
def test_quantize_columns_follows_its_formula(seed, depth, columns, sigmas, outliers):
    weights = random_weights(seed, depth, columns, outliers)
    q, scales = quantize_columns(weights, sigmas)
    assert q.dtype == np.int8 and scales.dtype == np.float32 and q.shape == weights.shape
    w = weights.astype(np.float64)
    reach = np.abs(w).max(axis=0)
    if sigmas is not None and depth > 1:
        reach = np.minimum(reach, sigmas * w.std(axis=0))
    assert np.allclose(scales, reach / 127, rtol=8 * UNIT, atol=0)
    exact = np.clip(w / scales, -127, 127)
    assert (np.abs(q - exact) <= 0.5 + 127 * 2 * UNIT).all()


@given(st.lists(FLOATS, min_size=3, max_size=3))
@settings(deadline=None)
def test_without_sigmas_the_largest_becomes_127(column):
    weights = np.array(column, np.float32)[:, None]
    q, scales = quantize_columns(weights, None)
    most = np.abs(weights).max()
    if most / 127 > 1000 * TINY:  # a smaller scale has fewer than 24 bits
        assert np.abs(q.astype(int)).max() == 127
        assert (np.abs(weights - q * scales.astype(np.float64)) <= 0.51 * scales).all()
    else:
        assert scales[0] > 0 and np.abs(q.astype(int)).max() <= 127


def test_sigma_only_clips():
    """A column without outliers keeps its own maximum: a wider range would waste resolution."""
    weights = random_weights(1)
    assert np.array_equal(quantize_columns(weights, 7.0)[1], quantize_columns(weights, None)[1])
    outliers = random_weights(1, depth=1000, outliers=1)
    assert (quantize_columns(outliers, 7.0)[1] < quantize_columns(outliers, None)[1]).all()


def test_halves_round_to_even_and_minus_128_does_not_occur():
    weights = np.array([[127, 0.5, 1.5, 2.5], [-127, -0.5, -1.5, -2.5]], np.float32)
    weights = np.concatenate([weights, np.full((1, 4), 127, np.float32)])
    q, scales = quantize_columns(weights, None)
    assert (scales == 1).all()
    assert q.tolist() == [[127, 0, 2, 2], [-127, 0, -2, -2], [127] * 4]


@pytest.mark.parametrize("sigmas", [None, 7.0])
@pytest.mark.parametrize("value, expected", [(0.0, 0), (0.25, 127), (-3e38, -127), (1e-45, 0)])
def test_constant_columns(sigmas, value, expected):
    """A column of zeros has scale 1; so has one that is too small for a scale in float32."""
    q, scales = quantize_columns(np.full((5, 2), value, np.float32), sigmas)
    assert (q == expected).all()
    assert (scales == (1 if expected == 0 else np.float32(abs(value)) / np.float32(127))).all()


@given(seeds)
@settings(deadline=None)
def test_a_column_does_not_depend_on_the_others(seed):
    weights = random_weights(seed)
    q, scales = quantize_columns(weights)
    q_alone, scale_alone = quantize_columns(np.ascontiguousarray(weights[:, 3:4]))
    assert np.array_equal(q_alone, q[:, 3:4])
    assert np.allclose(scale_alone, scales[3:4], rtol=2 * UNIT)  # NumPy may add a deviation in another order
