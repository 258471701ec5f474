"""The LSTM's elementwise part."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.architectures import recurrent_rows as cells
from tests.definitions.cells import lstm_row_reference
from tests.support.float_steps import UNIT, same_bits


@given(cells.SEEDS, cells.ROWS, cells.DEPTHS, st.sampled_from([0.01, 3.0, 30.0]), cells.MISALIGNED)
@settings(deadline=None)
def test_equals_its_reference(program, seed, rows, depth, spread, misaligned):
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


def test_open_and_closed_gates_keep_and_replace(program):
    operands = cells.random_operands("lstm", 1, 2, 16)
    gates, state_gates, _, states = operands
    gates[0, :16], gates[0, 16:32] = 1000, -1000  # remember everything, learn nothing
    gates[1, :16], gates[1, 16:32] = -1000, 1000  # the other way round
    made, _ = cells.step(program, "lstm", operands)
    assert np.abs(made[0, 16:] - states[0, 16:]).max() <= 1e-6 * (1 + np.abs(states[0])).max()
    candidate = np.tanh(gates[1, 32:48].astype(np.float64) + state_gates[1, 32:48])
    assert np.abs(made[1, 16:] - candidate).max() <= 1e-5 * (1 + np.abs(states[1])).max()


def test_the_state_may_be_overwritten(program):
    cells.check_overwriting(program, "lstm")
