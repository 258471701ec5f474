"""Activations and gates: within the error of the table, of exp and of their roundings."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.kernels.gates import GELU, GELU_SIGMOID, RELU, SWISH
from cpunmt.kernels.tables import sigmoid_table
from tests.definitions.kernels import (
    activate_reference,
    add_rows_reference,
    average_reference,
    clip_reference,
    highway_reference,
    squash_reference,
    weigh_reference,
)
from tests.kernels.rows import DEPTHS, MISALIGNED, SEEDS
from tests.support.float_steps import UNIT, same_bits
from tests.support.guarded import Guards

SIGMOID = 1.1e-6  # error bound of kernels/activations
ERF = 1.5e-7 + 1e-6  # of the formula, and of an exp with an error of 2e-7 and its five roundings
spreads = st.sampled_from([0.01, 3.0, 100.0])


def vectors(seed, count, length, spread):
    generator = np.random.default_rng(seed)
    return [(spread * generator.standard_normal(length)).astype(np.float32) for _ in range(count)]


@given(SEEDS, DEPTHS, spreads, st.sampled_from([RELU, SWISH, GELU, GELU_SIGMOID]), MISALIGNED)
@settings(deadline=None)
def test_activations_equal_their_references(program, seed, length, spread, function, misaligned):
    (x,) = vectors(seed, 1, length, spread)
    guard = Guards(misaligned)
    made = guard.copy(x, written=True)
    program.activate(made, length, function, guard.copy(sigmoid_table()))
    guard.check()
    with np.errstate(over="ignore"):
        expected = activate_reference(x, function)
    error = {RELU: 0, GELU: ERF}.get(function, SIGMOID)
    assert (np.abs(made - expected) <= (error + 3 * UNIT) * np.abs(x)).all()


@pytest.mark.parametrize("function", [RELU, SWISH, GELU, GELU_SIGMOID])
def test_activations_far_out(program, function):
    x = np.array([0, 40, -40, 1e4, -1e4] + [0] * 11, np.float32)
    program.activate(x, 16, function, sigmoid_table())
    assert x[0] == 0 and x[1] == pytest.approx(40, abs=1e-4) and x[3] == pytest.approx(1e4, rel=3e-6)
    assert abs(x[2]) < 1e-4 and abs(x[4]) < 1e-2


@given(SEEDS, DEPTHS, spreads, MISALIGNED)
@settings(deadline=None)
def test_highway_equals_its_reference(program, seed, length, spread, misaligned):
    gates, y, x = vectors(seed, 3, length, spread)
    guard = Guards(misaligned)
    made = guard.copy(y, written=True)
    program.highway(guard.copy(gates), made, guard.copy(x), length, guard.copy(sigmoid_table()))
    guard.check()
    expected = highway_reference(gates, y.astype(np.float64), x)
    limit = (SIGMOID + UNIT) * np.abs(y.astype(np.float64) - x) + UNIT * np.abs(expected)
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
    limit = (SIGMOID + 2 * UNIT) * (np.abs(x) + np.abs(y)) + UNIT * np.abs(expected)
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
    assert (np.abs(squashed - squash_reference(x)) <= 2 * SIGMOID + UNIT).all()
    assert same_bits(clipped, clip_reference(x, np.float32(0.5))) and same_bits(added, add_rows_reference(x, y))
