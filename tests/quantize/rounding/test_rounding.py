"""Rounding with feedback: equal to its slow definition, and better for products than the nearest integers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.layers.schemes import CODEBOOKS, codebook, int8
from quantize.rounding import rounding
from quantize.rounding.ranges import Range, quantize
from quantize.rounding.rounding import damped, descend, fitted_scales, round_with_feedback
from tests.definitions.rounding import descend_reference, lost, round_with_feedback_reference

seeds = st.integers(0, 2**32 - 1)
schemes = st.sampled_from(["int8", *CODEBOOKS])


def nearest_of(scheme):
    return int8.nearest if scheme == "int8" else lambda x: codebook.nearest(x, CODEBOOKS[scheme])


def problem(seed, depth, columns, rank=None):
    """Returns (weights, moments of correlated inputs)."""
    generator = np.random.default_rng(seed)
    weights = generator.standard_normal((depth, columns)) * generator.lognormal(-2, 1, columns)
    x = generator.standard_normal((4 * depth, rank or depth)) @ generator.standard_normal((rank or depth, depth))
    x += generator.standard_normal(depth)
    return weights.astype(np.float32), (x.T @ x / len(x)).astype(np.float32)


@given(seeds, schemes, st.integers(1, 40), st.integers(1, 6))
def test_feedback_is_optimal_brain_surgery(seed, scheme, depth, columns):
    weights, moments = problem(seed, depth, columns)
    _, scales = quantize(weights, scheme, Range())
    arguments = weights, scales, damped(moments), nearest_of(scheme)
    made, expected = round_with_feedback(*arguments), round_with_feedback_reference(*arguments)
    assert made.dtype == expected.dtype == np.int8
    assert np.array_equal(made, expected)


@given(seeds, schemes, st.integers(1, 40), st.integers(1, 6))
def test_descent_is_its_definition(seed, scheme, depth, columns):
    weights, moments = problem(seed, depth, columns)
    q, scales = quantize(weights, scheme, Range())
    arguments = weights, q, scales, damped(moments), nearest_of(scheme)
    assert np.array_equal(descend(*arguments), descend_reference(*arguments))


def test_blocks_of_rows_and_columns_change_nothing(monkeypatch):
    weights, moments = problem(3, 70, 30)
    q, scales = quantize(weights, "code4", Range())
    h, nearest = damped(moments), nearest_of("code4")
    whole = round_with_feedback(weights, scales, h, nearest), descend(weights, q, scales, h, nearest)
    monkeypatch.setattr(rounding, "BLOCK", 16)
    monkeypatch.setattr(rounding, "_COLUMNS", 7)
    cut = round_with_feedback(weights, scales, h, nearest), descend(weights, q, scales, h, nearest)
    assert np.array_equal(whole[0], cut[0]) and np.array_equal(whole[1], cut[1])
    assert np.array_equal(whole[0], round_with_feedback_reference(weights, scales, h, nearest))


@given(seeds, schemes)
def test_inputs_that_are_not_correlated_round_to_nearest(seed, scheme):
    weights, _ = problem(seed, 24, 4)
    q, scales = quantize(weights, scheme, Range())
    h = np.diag(np.random.default_rng(seed).lognormal(0, 1, 24))
    assert np.array_equal(round_with_feedback(weights, scales, h, nearest_of(scheme)), q)


@given(seeds, schemes, st.integers(2, 60))
def test_each_step_loses_less_than_the_one_before(seed, scheme, depth):
    weights, moments = problem(seed, depth, 6)
    plain, scales = quantize(weights, scheme, Range())
    h, nearest = damped(moments), nearest_of(scheme)
    q = round_with_feedback(weights, scales, h, nearest)
    before = lost(weights, q, scales, h)
    better = fitted_scales(weights, q, scales, h)
    fitted = lost(weights, q, better, h)
    last = lost(weights, descend(weights, q, better, h, nearest), better, h)
    slack = 1e-9 * lost(weights, np.zeros_like(q), scales, h)
    assert (fitted <= before * (1 + 1e-6) + slack).all() and (last <= fitted * (1 + 1e-9) + slack).all()
    assert (
        lost(weights, descend(weights, plain, scales, h, nearest), scales, h) <= lost(weights, plain, scales, h) + slack
    ).all()


def test_lost_is_the_error_of_products():
    weights, moments = problem(1, 12, 3)
    x = np.linalg.cholesky(moments.astype(np.float64)).T  # x^T x = moments
    q, scales = quantize(weights, "code4", Range())
    expected = np.square(x @ weights - x @ (q * scales.astype(np.float64))).sum(axis=0)
    assert np.allclose(lost(weights, q, scales, moments.astype(np.float64)), expected, rtol=1e-4)


def test_scales_stay_where_no_positive_one_is_best():
    weights, moments = problem(1, 12, 3)
    q = np.zeros((12, 3), np.int8)
    q[:, 1] = np.sign(-weights[:, 1])  # would be best with a negative scale
    q[:, 2] = np.sign(weights[:, 2])
    scales = np.full(3, 7, np.float32)
    fitted = fitted_scales(weights, q, scales, damped(moments) + 100 * np.eye(12))
    assert fitted[0] == fitted[1] == 7 and 0 < fitted[2] < 7 and fitted.dtype == np.float32


def test_moments_of_nothing_are_damped_too():
    h = damped(np.zeros((4, 4), np.float32))
    assert np.array_equal(h, np.eye(4))
    h = damped(np.diag([4.0, 0, 0, 0]).astype(np.float32), 0.5)
    assert np.diag(h).tolist() == [4.5, 0.5, 0.5, 0.5]
