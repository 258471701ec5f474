"""4-bit weights: nearest levels, locally optimal scales, and codes for levels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.layers.schemes import CODEBOOKS, code4, codebook, log4
from cpunmt.layers.schemes.codebook import best_scales, nearest, numbers, quantize_columns

seeds = st.integers(0, 2**32 - 1)
schemes = st.sampled_from(sorted(CODEBOOKS))


def random_weights(seed, depth, columns=3):
    generator = np.random.default_rng(seed)
    weights = generator.standard_normal((depth, columns)) * generator.lognormal(-3, 3, columns)
    return weights.astype(np.float32)


def squared_error(weights, scales, levels):
    """Returns the squared error of each column, with the nearest levels."""
    scales = scales.astype(np.float64)
    distance = np.abs(weights[:, :, None] - scales[:, None] * levels.astype(np.float64)).min(axis=2)
    return (distance**2).sum(axis=0)


def test_levels():
    assert sorted(log4.LEVELS.tolist()) == sorted([0, 0, *(s * 2**k for k in range(7) for s in (1, -1))])
    assert (code4.LEVELS + code4.LEVELS[::-1] == 0).all() and (np.diff(code4.LEVELS.astype(int)) > 0).all()
    assert log4.LEVELS.dtype == code4.LEVELS.dtype == np.int8


def test_code4_is_the_best_quantizer_of_a_normal_distribution():
    """Each level is the mean of its nearest values (Lloyd's condition), to half a unit of rounding."""
    x = np.random.default_rng(1).standard_normal(1_000_000)
    levels = code4.LEVELS * (2.733 / 127)  # the largest level of the table, in standard deviations
    cell = np.searchsorted((levels[1:] + levels[:-1]) / 2, x)
    means = np.bincount(cell, x) / np.bincount(cell)
    assert np.abs(means - levels).max() < 2.733 / 127


@given(seeds, schemes)
def test_nearest_is_nearest(seed, scheme):
    levels = CODEBOOKS[scheme]
    x = np.random.default_rng(seed).normal(0, 60, (50, 4))
    q = nearest(x, levels)
    assert q.dtype == np.int8 and np.isin(q, levels).all()
    assert np.allclose(np.abs(x - q), np.abs(x[..., None] - levels).min(axis=-1))


def test_halfway_goes_up():
    assert nearest(np.array([1.5, -1.5, 48, -48, 200, -200]), log4.LEVELS).tolist() == [2, -1, 64, -32, 64, -64]


@given(seeds, schemes, st.integers(1, 300))
def test_no_other_scale_is_much_better(seed, scheme, depth):
    weights, levels = random_weights(seed, depth), CODEBOOKS[scheme]
    scales = best_scales(weights, levels)
    assert scales.dtype == np.float32 and (scales > 0).all()
    error = squared_error(weights, scales, levels)
    widest = np.abs(weights).max(axis=0) / np.abs(levels.astype(int)).max()
    tried = [squared_error(weights, widest * factor, levels) for factor in 2.0 ** np.linspace(-4, 1, 200)]
    signal = np.square(weights.astype(np.float64)).sum(axis=0)
    slack = 0.002 if depth >= 64 else 0.01  # few weights have narrow optima
    assert (error <= np.min(tried, axis=0) + slack * signal).all()


@given(seeds, schemes)
def test_weights_that_are_levels_come_back(seed, scheme):
    levels = CODEBOOKS[scheme]
    q = np.random.default_rng(seed).choice(levels, (40, 5))
    q[0] = levels[np.argmax(np.abs(levels.astype(int)))]
    scales = np.array([1, 0.5, 3, 1e-3, 1e20], np.float32)
    made, found = quantize_columns((q * scales).astype(np.float32), levels)
    assert np.allclose(made * found, q * scales, rtol=1e-6)


@pytest.mark.parametrize("levels", CODEBOOKS.values(), ids=CODEBOOKS)
def test_one_scale_for_all_columns(levels):
    weights = random_weights(3, 64)
    q, scales = quantize_columns(weights, levels, per_tensor=True)
    assert scales.shape == (3,) and len(np.unique(scales)) == 1
    assert scales[0] == best_scales(weights.reshape(-1, 1), levels)[0]
    assert np.array_equal(q, nearest(weights / scales, levels))


@pytest.mark.parametrize("levels", CODEBOOKS.values(), ids=CODEBOOKS)
@pytest.mark.parametrize("value", [0.0, 1e-45, 1e-38, 3e38, -2.0])
def test_constant_columns(levels, value):
    q, scales = quantize_columns(np.full((5, 2), value, np.float32), levels)
    assert (scales > 0).all() and np.isfinite(scales).all() and np.isin(q, levels).all()
    if abs(value) > 1e-37:
        assert np.allclose(q * scales, value, rtol=1e-6)


def test_a_column_does_not_depend_on_the_others():
    weights = random_weights(7, 100, 6)
    q, scales = quantize_columns(weights, code4.LEVELS)
    q_alone, scale_alone = quantize_columns(np.ascontiguousarray(weights[:, 2:3]), code4.LEVELS)
    assert np.array_equal(q_alone, q[:, 2:3]) and scale_alone == scales[2]


@given(seeds, schemes)
def test_numbers_stand_for_levels(seed, scheme):
    levels = CODEBOOKS[scheme]
    q = np.random.default_rng(seed).choice(levels, (3, 16, 2))
    made = numbers(q, levels)
    assert made.dtype == np.uint8 and made.shape == q.shape and made.max() < 16
    assert np.array_equal(levels[made], q)


def test_zero_has_the_first_of_its_two_numbers():
    assert numbers(np.array([0], np.int8), log4.LEVELS).tolist() == [0]


def test_what_is_no_level_is_refused():
    with pytest.raises(ValueError, match="not all among the levels"):
        numbers(np.array([1, 2, 3], np.int8), log4.LEVELS)


def test_code4_loses_less_than_log4():
    """By 6 decibels on normal weights, which is its purpose."""
    weights = random_weights(11, 256, 64)
    lost = {}
    for scheme, levels in CODEBOOKS.items():
        q, scales = codebook.quantize_columns(weights, levels)
        lost[scheme] = (np.square(weights - q * scales).sum(axis=0) / np.square(weights).sum(axis=0)).mean()
    assert 10**0.5 * lost["code4"] < lost["log4"] < 0.05
