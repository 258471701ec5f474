"""The elementwise parts of GRU and LSTM."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.architectures import recurrent_rows as cells
from tests.definitions.kernels import gru_row_reference, lstm_row_reference
from tests.support.float_steps import UNIT, same_bits


@given(cells.SEEDS, cells.ROWS, cells.DEPTHS, st.sampled_from([0.01, 3.0, 30.0]), cells.MISALIGNED)
@settings(deadline=None)
def test_the_gru_equals_its_reference(program, seed, rows, depth, spread, misaligned):
    operands = cells.random_operands("gru", seed, rows, depth, spread)
    gates, state_gates, _, states = operands
    expected = gru_row_reference(gates, state_gates, states)
    made, out = cells.step(program, "gru", operands, misaligned)
    # sums round by UNIT of their terms, which tanh and sigmoid do not enlarge; the reset gate's error is multiplied
    renewed = np.abs(state_gates[:, 2 * depth :].astype(np.float64))
    sums = UNIT * (np.abs(gates).sum(axis=1) + np.abs(state_gates).sum(axis=1))[:, None]
    candidate = 2 * cells.SIGMOID + (cells.SIGMOID + sums) * renewed + sums
    tolerance = candidate + (cells.SIGMOID + sums) * (1 + np.abs(states)) + 4 * UNIT * (1 + np.abs(states))
    assert (np.abs(made - expected) <= tolerance).all()
    assert same_bits(out, made)


def test_open_and_closed_gates_of_the_gru_keep_and_replace(program):
    operands = cells.random_operands("gru", 1, 2, 16)
    gates, _, _, states = operands
    gates[0, 16:32], gates[1, 16:32] = 1000, -1000  # update gates of 1 and 0
    gates[1, :16] = -1000  # and nothing of the state is in the candidate
    made, _ = cells.step(program, "gru", operands)
    assert np.abs(made[0] - states[0]).max() <= 1e-6 * (1 + np.abs(states[0])).max()
    assert np.abs(made[1] - np.tanh(gates[1, 32:])).max() <= 1e-5


@given(cells.SEEDS, cells.ROWS, cells.DEPTHS, st.sampled_from([0.01, 3.0, 30.0]), cells.MISALIGNED)
@settings(deadline=None)
def test_the_lstm_equals_its_reference(program, seed, rows, depth, spread, misaligned):
    operands = cells.random_operands("lstm", seed, rows, depth, spread)
    gates, state_gates, _, states = operands
    expected = lstm_row_reference(gates, state_gates, states)
    made, out = cells.step(program, "lstm", operands, misaligned)
    # sums round by UNIT of their terms, which tanh and sigmoid do not enlarge
    sums = UNIT * (np.abs(gates).max(axis=1) + np.abs(state_gates).max(axis=1))[:, None]
    gate, before = cells.SIGMOID + sums, np.abs(states[:, depth:].astype(np.float64))
    memory = gate * before + 3 * gate + 4 * UNIT * (1 + before)
    assert (np.abs(made - expected)[:, depth:] <= memory).all()
    assert (np.abs(made - expected)[:, :depth] <= memory + 3 * gate + 4 * UNIT).all()
    assert same_bits(out, np.ascontiguousarray(made[:, :depth]))


def test_open_and_closed_gates_of_the_lstm_keep_and_replace(program):
    operands = cells.random_operands("lstm", 1, 2, 16)
    gates, state_gates, _, states = operands
    gates[0, :16], gates[0, 16:32] = 1000, -1000  # remember everything, learn nothing
    gates[1, :16], gates[1, 16:32] = -1000, 1000  # the other way round
    made, _ = cells.step(program, "lstm", operands)
    assert np.abs(made[0, 16:] - states[0, 16:]).max() <= 1e-6 * (1 + np.abs(states[0])).max()
    candidate = np.tanh(gates[1, 32:48].astype(np.float64) + state_gates[1, 32:48])
    assert np.abs(made[1, 16:] - candidate).max() <= 1e-5 * (1 + np.abs(states[1])).max()


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_the_state_may_be_overwritten(program, cell):
    cells.check_overwriting(program, cell)
