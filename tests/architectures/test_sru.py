"""The SRU's elementwise part."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.kernels.tables import sigmoid_table
from tests.definitions.cells import sru_row_reference
from tests.float_steps import UNIT, same_bits
from tests.guarded import Guards

SIGMOID = 1.1e-6  # error bound of kernels/activations


def step(program, gates, x, cell, misaligned=0):
    """(new cell, y) of the kernel; the guards are checked."""
    guard = Guards(misaligned)
    next_cell, out = guard.empty(cell.shape, np.float32), guard.empty(cell.shape, np.float32)
    table = guard.copy(sigmoid_table())
    program.sru_row(guard.copy(gates), 0, guard.copy(x), guard.copy(cell), len(cell), table, next_cell, out)
    guard.check()
    return next_cell.copy(), out.copy()


def random_operands(seed, depth, spread=3.0):
    generator = np.random.default_rng(seed)
    return tuple((spread * generator.standard_normal(n)).astype(np.float32) for n in (3 * depth, depth, depth))


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 20).map(lambda n: 16 * n),
    st.sampled_from([0.01, 3.0, 100.0]),
    st.sampled_from([0, 4, 36]),
)
@settings(deadline=None)
def test_equals_its_reference(program, seed, depth, spread, misaligned):
    gates, x, cell = random_operands(seed, depth, spread)
    with np.errstate(over="ignore"):
        expected, y = sru_row_reference(gates, x, cell)
    made, out = step(program, gates, x, cell, misaligned)
    off = (SIGMOID + UNIT) * np.abs(cell - gates[:depth].astype(np.float64)) + UNIT * np.abs(expected)
    assert (np.abs(made - expected) <= off).all()
    # tanh = 2 sigmoid(2 c) - 1 is off by what c is, and by twice the table's error; the reset gate as the other
    limit = off + 2 * SIGMOID + 4 * UNIT + (SIGMOID + 2 * UNIT) * (1 + np.abs(x)) + UNIT * np.abs(y)
    assert (np.abs(out - y) <= limit).all()


def test_the_state_may_be_overwritten(program):
    gates, x, cell = random_operands(2, 48)
    expected, out = step(program, gates, x, cell)
    program.sru_row(gates, 0, x, cell, 48, sigmoid_table(), cell, np.empty_like(out))
    assert same_bits(cell, expected)
