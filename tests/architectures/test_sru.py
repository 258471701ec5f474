"""The SRU's elementwise part."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.architectures import recurrent_rows as cells
from tests.definitions.cells import sru_row_reference
from tests.support.float_steps import UNIT


@given(cells.SEEDS, cells.ROWS, cells.DEPTHS, st.sampled_from([0.01, 3.0, 100.0]), cells.MISALIGNED)
@settings(deadline=None)
def test_equals_its_reference(program, seed, rows, depth, spread, misaligned):
    operands = cells.random_operands("sru", seed, rows, depth, spread)
    gates, _, x, states = operands
    made, out = cells.step(program, "sru", operands, misaligned)
    with np.errstate(over="ignore"):
        references = [sru_row_reference(*operands) for operands in zip(gates, x, states, strict=True)]
    expected, y = map(np.stack, zip(*references, strict=True))
    off = (cells.SIGMOID + UNIT) * np.abs(states - gates[:, :depth].astype(np.float64)) + UNIT * np.abs(expected)
    assert (np.abs(made - expected) <= off).all()
    # tanh = 2 sigmoid(2 c) - 1 is off by what c is, and by twice the table's error; the reset gate as the other
    limit = off + 2 * cells.SIGMOID + 4 * UNIT + (cells.SIGMOID + 2 * UNIT) * (1 + np.abs(x)) + UNIT * np.abs(y)
    assert (np.abs(out - y) <= limit).all()


def test_the_state_may_be_overwritten(program):
    cells.check_overwriting(program, "sru")
