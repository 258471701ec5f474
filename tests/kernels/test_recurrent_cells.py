"""The elementwise parts of recurrent cells, row by row: each within its error of the reference."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.kernels.tables import sigmoid_table
from tests.definitions.kernels import gru_row_reference, lstm_row_reference, sru_row_reference, ssru_row_reference
from tests.kernels.rows import DEPTHS, MISALIGNED, SEEDS
from tests.support.float_steps import UNIT, same_bits
from tests.support.guarded import Guards

SIGMOID = 1.1e-6  # error bound of kernels/activations; of tanh twice as much
# The inputs of each row, in multiples of model_dim: gates of the input, gates of the state, the input itself, the
# state.
WIDTHS = {"ssru": (2, 0, 0, 1), "sru": (3, 0, 1, 1), "gru": (3, 3, 0, 1), "lstm": (4, 4, 0, 2)}


class Operands(NamedTuple):
    """float32 [rows, width] each; None if the cell does not read it."""

    gates: np.ndarray
    state_gates: np.ndarray | None
    x: np.ndarray | None
    states: np.ndarray


def random_operands(cell, seed, rows, depth, spread=3.0) -> Operands:
    """Draws normally distributed numbers of deviation `spread`."""
    generator = np.random.default_rng(seed)
    shapes = [(rows, width * depth) for width in WIDTHS[cell]]
    return Operands(*((spread * generator.standard_normal(n)).astype(np.float32) if n[1] else None for n in shapes))


def step(program, cell, operands, misaligned=0, in_place=False):
    """Returns (new states, y) of a cell's kernel, each row by a call; checks the guards."""
    guard = Guards(misaligned)
    *read, states = operands
    read = [None if array is None else guard.copy(array) for array in read]
    states, table = guard.copy(states, written=in_place), guard.copy(sigmoid_table())
    made, depth = states if in_place else guard.empty(states.shape, np.float32), states.shape[1] // WIDTHS[cell][3]
    out = guard.empty((len(states), depth), np.float32)
    for row in range(len(states)):
        kernel = getattr(program, f"{cell}_row")
        kernel(*(0 if array is None else array[row] for array in read), states[row], depth, table, made[row], out[row])
    guard.check()
    return made.copy(), out.copy()


def check_ssru(gates, state_gates, x, states, made, out):
    expected, _ = ssru_row_reference(gates, states)
    between = np.abs(states - gates[:, : states.shape[1]].astype(np.float64))
    assert (np.abs(made - expected) <= (SIGMOID + UNIT) * between + UNIT * np.abs(expected)).all()
    assert np.array_equal(out, np.maximum(made, 0))


def check_sru(gates, state_gates, x, states, made, out):
    expected, y = sru_row_reference(gates, x, states)
    between = np.abs(states - gates[:, : states.shape[1]].astype(np.float64))
    off = (SIGMOID + UNIT) * between + UNIT * np.abs(expected)
    assert (np.abs(made - expected) <= off).all()
    # tanh = 2 sigmoid(2 c) - 1 has the error of c, and twice the table's; the reset gate likewise
    limit = off + 2 * SIGMOID + 4 * UNIT + (SIGMOID + 2 * UNIT) * (1 + np.abs(x)) + UNIT * np.abs(y)
    assert (np.abs(out - y) <= limit).all()


def check_gru(gates, state_gates, x, states, made, out):
    expected = gru_row_reference(gates, state_gates, states)
    # sums round by UNIT of their terms, which tanh and sigmoid do not enlarge; the reset gate's error is multiplied
    renewed = np.abs(state_gates[:, 2 * states.shape[1] :].astype(np.float64))
    sums = UNIT * (np.abs(gates).sum(axis=1) + np.abs(state_gates).sum(axis=1))[:, None]
    candidate = 2 * SIGMOID + (SIGMOID + sums) * renewed + sums
    tolerance = candidate + (SIGMOID + sums) * (1 + np.abs(states)) + 4 * UNIT * (1 + np.abs(states))
    assert (np.abs(made - expected) <= tolerance).all()
    assert same_bits(out, made)


def check_lstm(gates, state_gates, x, states, made, out):
    expected, depth = lstm_row_reference(gates, state_gates, states), states.shape[1] // 2
    # sums round by UNIT of their terms, which tanh and sigmoid do not enlarge
    sums = UNIT * (np.abs(gates).max(axis=1) + np.abs(state_gates).max(axis=1))[:, None]
    gate, before = SIGMOID + sums, np.abs(states[:, depth:].astype(np.float64))
    memory = gate * before + 3 * gate + 4 * UNIT * (1 + before)
    assert (np.abs(made - expected)[:, depth:] <= memory).all()
    assert (np.abs(made - expected)[:, :depth] <= memory + 3 * gate + 4 * UNIT).all()
    assert same_bits(out, np.ascontiguousarray(made[:, :depth]))


CHECKS = {"ssru": check_ssru, "sru": check_sru, "gru": check_gru, "lstm": check_lstm}


@pytest.mark.parametrize("cell", CHECKS)
@given(SEEDS, st.integers(1, 5), DEPTHS, st.sampled_from([0.01, 3.0, 30.0]), MISALIGNED)
@settings(deadline=None)
def test_a_cell_equals_its_reference(program, cell, seed, rows, depth, spread, misaligned):
    operands = random_operands(cell, seed, rows, depth, spread)
    made = step(program, cell, operands, misaligned)
    with np.errstate(over="ignore"):
        CHECKS[cell](*operands, *made)
    overwritten = step(program, cell, operands, in_place=True)  # the new state may replace the old one in place
    assert all(same_bits(*pair) for pair in zip(made, overwritten, strict=True))


@pytest.mark.parametrize(
    ("cell", "spans"),  # of the gates: first number, end, and their values in the first row and in the second
    [
        ("ssru", [(16, 32, 1000, -1000)]),  # forget gates
        ("gru", [(16, 32, 1000, -1000), (0, 16, 0, -1000)]),  # update gates; the candidate ignores the state
        ("lstm", [(0, 16, 1000, -1000), (16, 32, -1000, 1000)]),  # remember everything and learn nothing; or the other
    ],
)
def test_open_and_closed_gates_keep_and_replace(program, cell, spans):
    operands = random_operands(cell, 1, 2, 16)
    gates, state_gates, _, states = operands
    for first, end, *values in spans:
        gates[:, first:end] = np.array(values)[:, None]
    made, _ = step(program, cell, operands)
    kept = states[0, -16:]
    candidate = gates[1, 32:48] + state_gates[1, 32:48] if cell == "lstm" else gates[1, 32:48]
    replaced = gates[1, :16] if cell == "ssru" else np.tanh(candidate)
    assert np.abs(made[0, -16:] - kept).max() <= 1e-6 * (1 + np.abs(states[0])).max()
    assert np.abs(made[1, -16:] - replaced).max() <= 1e-5 * (1 + np.abs(states[1])).max()
