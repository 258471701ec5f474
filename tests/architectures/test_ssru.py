"""The SSRU's elementwise part."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.architectures import recurrent_rows as cells
from tests.definitions.cells import ssru_row_reference
from tests.support.float_steps import UNIT


@given(cells.SEEDS, cells.ROWS, cells.DEPTHS, st.sampled_from([0.01, 3.0, 1000.0]), cells.MISALIGNED)
@settings(deadline=None)
def test_equals_its_reference(program, seed, rows, depth, spread, misaligned):
    operands = cells.random_operands("ssru", seed, rows, depth, spread)
    gates, _, _, states = operands
    with np.errstate(over="ignore"):  # exp(1000) is infinite, and its sigmoid 0
        expected, _ = ssru_row_reference(gates, states)
    made, out = cells.step(program, "ssru", operands, misaligned)
    between = np.abs(states - gates[:, :depth].astype(np.float64))
    assert (np.abs(made - expected) <= (cells.SIGMOID + UNIT) * between + UNIT * np.abs(expected)).all()
    assert np.array_equal(out, np.maximum(made, 0))


def test_open_and_closed_gates_keep_and_replace(program):
    operands = cells.random_operands("ssru", 1, 2, 16)
    gates, _, _, states = operands
    gates[0, 16:], gates[1, 16:] = 1000, -1000  # forget gates of 1 and 0, to a float's accuracy
    made, _ = cells.step(program, "ssru", operands)
    between = np.abs(states - gates[:, :16])
    assert (np.abs(made[0] - states[0]) <= (1.2e-7 + UNIT) * between[0] + UNIT * np.abs(states[0])).all()
    assert (np.abs(made[1] - gates[1, :16]) <= (1.2e-7 + UNIT) * between[1] + UNIT * np.abs(gates[1, :16])).all()


def test_the_state_may_be_overwritten(program):
    cells.check_overwriting(program, "ssru")
