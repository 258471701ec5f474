"""int16 weights: a sum of products always fits into int32, for any activations, with the largest possible scales."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.layers.schemes.int16 import (
    LARGEST,
    LARGEST_SUM,
    activation_reach,
    fixed_point,
    overflow_free,
    quantize_columns,
)

seeds = st.integers(0, 2**32 - 1)


def random_weights(seed, depth, columns=4):
    """Draws columns of very different size, some normal and some with few nonzero weights."""
    generator = np.random.default_rng(seed)
    weights = generator.standard_normal((depth, columns)) * generator.lognormal(-3, 3, columns)
    weights[:, ::2] *= generator.random((depth, 1)) < 0.05
    return weights.astype(np.float32)


def test_reaches_fall_with_depth():
    reaches = [activation_reach(depth) for depth in (1, 256, 512, 513, 2048, 2049, 8192, 8193, 65536)]
    assert reaches == [4095, 4095, 4095, 2047, 2047, 1023, 1023, 511, 511]


@given(seeds, st.integers(1, 3000), st.sampled_from([None, 1, 255, 32767]))
def test_the_worst_activations_do_not_overflow(seed, depth, reach):
    weights = random_weights(seed, depth)
    q, scales = quantize_columns(weights, reach)
    assert q.dtype == np.int16 and scales.dtype == np.float32 and q.shape == weights.shape
    reach = reach or activation_reach(depth)
    worst = np.where(q < 0, -reach, reach)  # every product has the sign of the others
    assert (worst * q.astype(np.int64)).sum(axis=0).max() <= LARGEST_SUM
    assert overflow_free(q, reach)
    assert np.abs(q.astype(int)).max() <= LARGEST


@given(seeds, st.integers(1, 3000))
def test_weights_are_rounded_to_nearest_by_scales_that_use_the_room(seed, depth):
    weights = random_weights(seed, depth)
    q, scales = quantize_columns(weights)
    assert (np.abs(q * scales.astype(np.float64) - weights) <= 0.5 * scales * (1 + 1e-12)).all()
    used = np.abs(q.astype(np.int64))
    room = LARGEST_SUM // activation_reach(depth)
    filled = (used.max(axis=0) >= LARGEST - 1) | (used.sum(axis=0) >= room - depth - 2)
    assert filled[weights.any(axis=0)].all()


def test_columns_of_zeros_have_scale_1():
    q, scales = quantize_columns(np.zeros((16, 3), np.float32))
    assert not q.any() and (scales == 1).all()
    q, scales = fixed_point(np.zeros((16, 3), np.float32))
    assert not q.any() and (scales == 2**-10).all()


@pytest.mark.parametrize("value", [3e38, 1e-44])
def test_extreme_weights(value):
    q, scales = quantize_columns(np.full((4, 1), value, np.float32))
    assert np.isfinite(scales).all() and (scales > 0).all() and overflow_free(q, 4095)


def test_a_depth_that_leaves_no_bits_is_refused():
    with pytest.raises(ValueError, match="sums of 200000 products with activations up to 32767 leave no bits"):
        quantize_columns(np.ones((200000, 1), np.float32), 32767)
    quantize_columns(np.ones((2, 1), np.float32), LARGEST_SUM // 3)  # one bit is left
    with pytest.raises(ValueError, match="leave no bits"):
        quantize_columns(np.ones((2, 1), np.float32), LARGEST_SUM // 2)


def test_overflow_is_found_to_the_last_unit():
    """2^31 - 1 is a prime: with reach 1, it is the largest allowed sum of a column."""
    count = LARGEST_SUM // LARGEST
    q = np.full((count + 1, 2), LARGEST, np.int16)
    q[-1] = LARGEST_SUM - count * LARGEST
    assert overflow_free(q, 1)
    q[-1, 1] += 1
    assert not overflow_free(q, 1)
    q[-1, 1] = -q[-1, 1]  # magnitudes count
    assert not overflow_free(q, 1)
    assert not overflow_free(q[:2], 1 << 16) and overflow_free(q[:2], 1 << 14)


def test_the_integer_without_a_magnitude_is_refused():
    assert not overflow_free(np.array([[-32768]], np.int16), 1)
    assert overflow_free(np.zeros((0, 4), np.int16), 4095)


def test_overflow_along_other_axes():
    q = np.ones((3, 5, 16, 2), np.int16)
    assert overflow_free(q, LARGEST_SUM // 10, axis=(1, 3))
    assert not overflow_free(q, LARGEST_SUM // 10 + 1, axis=(1, 3))


def test_fixed_point_is_devlins():
    """Weights in [-1, 1], 10 bits of fraction: 64 of them cannot overflow with 15-bit activations."""
    weights = np.array([[0.5, -0.25], [1.5, -3.0], [0.0004, 2**-11]], np.float32)
    q, scales = fixed_point(weights, 32767)
    assert (scales == 2**-10).all()
    assert q.tolist() == [[512, -256], [1024, -1024], [0, 0]]


@given(seeds, st.integers(1, 3000))
def test_a_fixed_point_is_a_power_of_two_that_cannot_overflow(seed, depth):
    weights = random_weights(seed, depth)
    q, scales = fixed_point(weights)
    assert overflow_free(q, activation_reach(depth))
    assert len(np.unique(scales)) == 1 and np.frexp(scales[0])[0] == 0.5 and scales[0] >= 2**-10
    clipped = np.clip(weights, -1, 1)
    assert (np.abs(q * scales.astype(np.float64) - clipped) <= 0.5 * scales).all()
