"""Activations and gates: within the error of the table, of exp and of their roundings."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.kernels.gates import GELU, GELU_SIGMOID, GELU_TANH, RELU, SIGMOID, SWISH, TANH
from cpunmt.kernels.records import ACTIVATIONS
from cpunmt.kernels.tables import sigmoid_table
from tests.definitions.kernels import (
    activate_reference,
    add_rows_reference,
    average_reference,
    clip_reference,
    gate_rows_reference,
    highway_reference,
    squash_reference,
    weigh_reference,
)
from tests.kernels.rows import DEPTHS, MISALIGNED, SEEDS, check_independent
from tests.support.float_steps import UNIT, same_bits
from tests.support.guarded import Guards

OFF = 1.1e-6  # error bound of a sigmoid: kernels/activations
ERF = 1.5e-7 + 1e-6  # of the formula, and of an exp with an error of 2e-7 and its five roundings
spreads = st.sampled_from([0.01, 3.0, 100.0])


def vectors(seed, count, length, spread):
    generator = np.random.default_rng(seed)
    return [(spread * generator.standard_normal(length)).astype(np.float32) for _ in range(count)]


def activation_limit(x, function):
    """Bounds the error of an activation of x."""
    if function in (TANH, SIGMOID):
        return 2 * OFF + UNIT if function == TANH else OFF
    # a cubic's roundings move the argument of gelu_tanh by 5 units, and |u sigmoid'(u)| < 1/4
    return ({RELU: 0, GELU: ERF}.get(function, OFF) + 3 * UNIT) * np.abs(x)


@given(SEEDS, DEPTHS, spreads, st.integers(0, len(ACTIVATIONS) - 1), MISALIGNED)
@settings(deadline=None)
def test_activations_equal_their_references(program, seed, length, spread, function, misaligned):
    (x,) = vectors(seed, 1, length, spread)
    guard = Guards(misaligned)
    made = guard.copy(x, written=True)
    program.activate(made, length, function, guard.copy(sigmoid_table()))
    guard.check()
    with np.errstate(over="ignore"):
        expected = activate_reference(x, function)
    assert (np.abs(made - expected) <= activation_limit(x, function)).all()


@pytest.mark.parametrize("function", [RELU, SWISH, GELU, GELU_SIGMOID, GELU_TANH])
def test_activations_far_out(program, function):
    x = np.array([0, 40, -40, 1e4, -1e4, 1e30] + [0] * 10, np.float32)
    program.activate(x, 16, function, sigmoid_table())
    assert x[0] == 0 and x[1] == pytest.approx(40, abs=1e-4) and x[3] == pytest.approx(1e4, rel=3e-6)
    assert abs(x[2]) < 1e-4 and abs(x[4]) < 1e-2 and x[5] == pytest.approx(1e30, rel=3e-6)


def gate(program, x, function, misaligned=0):
    """Returns float32 [rows, width] of [rows, 2 * width]; checks the guards."""
    rows, width = len(x), x.shape[1] // 2
    guard = Guards(misaligned)
    made = guard.copy(x, written=True)
    program.gate_rows(made, rows, width, function, guard.copy(sigmoid_table()))
    guard.check()
    return made.ravel()[: rows * width].reshape(rows, width).copy()


@given(SEEDS, st.integers(1, 9), DEPTHS, spreads, st.integers(0, len(ACTIVATIONS) - 1), MISALIGNED)
@settings(deadline=None)
def test_gate_rows_equals_its_reference(program, seed, rows, width, spread, function, misaligned):
    x = np.stack(vectors(seed, rows, 2 * width, spread))
    found = gate(program, x, function, misaligned)
    left, right = np.split(x, 2, axis=1)
    with np.errstate(over="ignore"):
        expected = gate_rows_reference(x, function)
    limit = activation_limit(left, function) * np.abs(right) + UNIT * np.abs(expected)
    assert (np.abs(found - expected) <= limit * (1 + 1e-6)).all()


@given(SEEDS, st.integers(2, 9), DEPTHS)
@settings(deadline=None, max_examples=20)
def test_a_gated_row_does_not_depend_on_the_others(program, seed, rows, width):
    x = np.stack(vectors(seed, rows, 2 * width, 3.0))
    check_independent(seed, rows, lambda part: [gate(program, x[part], SWISH)])


@given(SEEDS, DEPTHS, spreads, MISALIGNED)
@settings(deadline=None)
def test_highway_equals_its_reference(program, seed, length, spread, misaligned):
    gates, y, x = vectors(seed, 3, length, spread)
    guard = Guards(misaligned)
    made = guard.copy(y, written=True)
    program.highway(guard.copy(gates), made, guard.copy(x), length, guard.copy(sigmoid_table()))
    guard.check()
    expected = highway_reference(gates, y.astype(np.float64), x)
    limit = (OFF + UNIT) * np.abs(y.astype(np.float64) - x) + UNIT * np.abs(expected)
    assert (np.abs(made - expected) <= limit).all()


@given(SEEDS, DEPTHS, spreads, MISALIGNED)
@settings(deadline=None)
def test_weigh_equals_its_reference(program, seed, length, spread, misaligned):
    kept, x, renewed, y = vectors(seed, 4, length, spread)
    guard = Guards(misaligned)
    made = guard.copy(y, written=True)
    table = guard.copy(sigmoid_table())
    program.weigh(guard.copy(kept), guard.copy(x), guard.copy(renewed), made, length, table)
    guard.check()
    expected = weigh_reference(kept, x.astype(np.float64), renewed, y.astype(np.float64))
    limit = (OFF + 2 * UNIT) * (np.abs(x) + np.abs(y)) + UNIT * np.abs(expected)
    assert (np.abs(made - expected) <= limit).all()


@given(SEEDS, DEPTHS, st.integers(1, 500), MISALIGNED)
@settings(deadline=None)
def test_average_equals_its_reference(program, seed, length, count, misaligned):
    x, cell = vectors(seed, 2, length, 3.0)
    guard = Guards(misaligned)
    share = np.float32(1) / np.float32(count)
    next_cell, out = guard.empty(length, np.float32), guard.empty(length, np.float32)
    program.average(guard.copy(x), guard.copy(cell), share, length, next_cell, out)
    guard.check()
    state, expected = average_reference(x, cell, share)
    assert np.array_equal(next_cell, state.astype(np.float32))
    assert (np.abs(out - expected) <= 3 * UNIT * np.abs(expected)).all()


@given(SEEDS, DEPTHS, spreads, MISALIGNED)
@settings(deadline=None)
def test_squash_clip_and_add_equal_their_references(program, seed, length, spread, misaligned):
    x, y = vectors(seed, 2, length, spread)
    guard = Guards(misaligned)
    squashed, clipped, added = guard.copy(x, written=True), guard.copy(x, written=True), guard.empty(length, np.float32)
    program.squash(squashed, length, guard.copy(sigmoid_table()))
    program.clip(clipped, length, 0.5)
    program.add_rows(guard.copy(x), guard.copy(y), length, added)
    guard.check()
    assert (np.abs(squashed - squash_reference(x)) <= 2 * OFF + UNIT).all()
    assert same_bits(clipped, clip_reference(x, np.float32(0.5))) and same_bits(added, add_rows_reference(x, y))
