"""The SSRU's elementwise part."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.kernels.tables import sigmoid_table
from tests.definitions.cells import ssru_row_reference
from tests.float_steps import UNIT, same_bits
from tests.guarded import Guards

SIGMOID = 1.1e-6  # error bound of kernels/activations
rows = st.integers(1, 5)
depths = st.integers(1, 20).map(lambda n: 16 * n)
seeds = st.integers(0, 2**32 - 1)


def step(program, gates, cells, misaligned=0):
    """(new cells, y) of the kernel; the guards are checked."""
    guard = Guards(misaligned)
    cells = guard.copy(cells)
    next_cells, out = guard.empty(cells.shape, np.float32), guard.empty(cells.shape, np.float32)
    gates, table = guard.copy(gates), guard.copy(sigmoid_table())
    for row in range(len(cells)):
        program.ssru_row(gates[row], 0, 0, cells[row], cells.shape[1], table, next_cells[row], out[row])
    guard.check()
    return next_cells.copy(), out.copy()


def random_operands(seed, rows, depth, spread=3.0):
    generator = np.random.default_rng(seed)
    gates, cells = (
        (spread * generator.standard_normal((rows, width))).astype(np.float32) for width in (2 * depth, depth)
    )
    return gates, cells


@given(seeds, rows, depths, st.sampled_from([0.01, 3.0, 1000.0]), st.sampled_from([0, 4, 36]))
@settings(deadline=None)
def test_equals_its_reference(program, seed, rows, depth, spread, misaligned):
    gates, cells = random_operands(seed, rows, depth, spread)
    with np.errstate(over="ignore"):  # exp(1000) is infinite, and its sigmoid 0
        expected, _ = ssru_row_reference(gates, cells)
    made, out = step(program, gates, cells, misaligned)
    between = np.abs(cells - gates[:, :depth].astype(np.float64))
    assert (np.abs(made - expected) <= (SIGMOID + UNIT) * between + UNIT * np.abs(expected)).all()
    assert np.array_equal(out, np.maximum(made, 0))


def test_open_and_closed_gates_keep_and_replace(program):
    gates, cells = random_operands(1, 2, 16)
    gates[0, 16:], gates[1, 16:] = 1000, -1000  # forget gates of 1 and 0, to a float's accuracy
    made, _ = step(program, gates, cells)
    between = np.abs(cells - gates[:, :16])
    assert (np.abs(made[0] - cells[0]) <= (1.2e-7 + UNIT) * between[0] + UNIT * np.abs(cells[0])).all()
    assert (np.abs(made[1] - gates[1, :16]) <= (1.2e-7 + UNIT) * between[1] + UNIT * np.abs(gates[1, :16])).all()


def test_the_state_may_be_overwritten(program):
    gates, cells = random_operands(2, 1, 48)
    expected, out = step(program, gates, cells)
    program.ssru_row(gates, 0, 0, cells, 48, sigmoid_table(), cells, out)
    assert same_bits(cells, expected)
