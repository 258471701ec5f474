"""The elementwise part of a recurrent cell, row by row: what the tests of every cell need."""

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from cpunmt.kernels.tables import sigmoid_table
from tests.support.float_steps import same_bits
from tests.support.guarded import Guards

SIGMOID = 1.1e-6  # error bound of kernels/activations; of tanh twice as much
ROWS = st.integers(1, 5)
DEPTHS = st.integers(1, 20).map(lambda n: 16 * n)
SEEDS = st.integers(0, 2**32 - 1)
MISALIGNED = st.sampled_from([0, 4, 36])


# What each row reads, in multiples of model_dim: gates of the input, gates of the state, the input itself, the state.
WIDTHS = {"ssru": (2, 0, 0, 1), "sru": (3, 0, 1, 1), "gru": (3, 3, 0, 1), "lstm": (4, 4, 0, 2)}


class Operands(NamedTuple):
    """float32 [rows, width]; None: the cell does not read it."""

    gates: np.ndarray
    state_gates: np.ndarray | None
    x: np.ndarray | None
    states: np.ndarray


def random_operands(cell, seed, rows, depth, spread=3.0) -> Operands:
    """Normally distributed numbers of deviation `spread`."""
    generator = np.random.default_rng(seed)
    shapes = [(rows, width * depth) for width in WIDTHS[cell]]
    return Operands(*((spread * generator.standard_normal(n)).astype(np.float32) if n[1] else None for n in shapes))


def step(program, cell, operands, misaligned=0, in_place=False):
    """(new states, y) of a cell's kernel, each row by a call; the guards are checked."""
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


def check_overwriting(program, cell):
    """The new state may be written over the old one."""
    operands = random_operands(cell, 2, 1, 48)
    results = step(program, cell, operands), step(program, cell, operands, in_place=True)
    assert all(same_bits(*pair) for pair in zip(*results, strict=True))
