"""The elementwise part of a recurrent cell, row by row: what the tests of every cell need."""

import numpy as np
from hypothesis import strategies as st

from cpunmt.kernels.tables import sigmoid_table
from tests.float_steps import same_bits
from tests.guarded import Guards

SIGMOID = 1.1e-6  # error bound of kernels/activations; of tanh twice as much
ROWS = st.integers(1, 5)
DEPTHS = st.integers(1, 20).map(lambda n: 16 * n)
SEEDS = st.integers(0, 2**32 - 1)
MISALIGNED = st.sampled_from([0, 4, 36])


def random_rows(seed, rows, widths, spread=3.0):
    """float32 arrays [rows, width], normally distributed with deviation `spread`."""
    generator = np.random.default_rng(seed)
    return [(spread * generator.standard_normal((rows, width))).astype(np.float32) for width in widths]


def step(kernel, depth, gates, state_gates, x, states, misaligned=0, in_place=False):
    """(new states, y) of a kernel, each row by a call; None is what it does not read. The guards are checked."""
    guard = Guards(misaligned)
    operands = [guard.copy(array) for array in (gates, state_gates, x) if array is not None]
    states, table = guard.copy(states, written=in_place), guard.copy(sigmoid_table())
    made = states if in_place else guard.empty(states.shape, np.float32)
    out = guard.empty((len(states), depth), np.float32)
    for row in range(len(states)):
        kernel(*(array[row] for array in operands), states[row], depth, table, made[row], out[row])
    guard.check()
    return made.copy(), out.copy()


def check_overwriting(kernel, depth, *operands):
    """The new state may be written over the old one."""
    for plain, overwritten in zip(
        step(kernel, depth, *operands), step(kernel, depth, *operands, in_place=True), strict=True
    ):
        assert same_bits(plain, overwritten)
