"""The GRU's elementwise part."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.kernels.tables import sigmoid_table
from tests.definitions.cells import gru_row_reference
from tests.float_steps import UNIT, same_bits
from tests.guarded import Guards

SIGMOID = 1.1e-6  # error bound of kernels/activations; of tanh twice as much
rows = st.integers(1, 5)
depths = st.integers(1, 20).map(lambda n: 16 * n)
seeds = st.integers(0, 2**32 - 1)


def step(program, gates, state_gates, states, misaligned=0, in_place=False):
    """(new states, y) of the kernel; the guards are checked."""
    guard = Guards(misaligned)
    gates, state_gates, states = guard.copy(gates), guard.copy(state_gates), guard.copy(states, written=in_place)
    made = states if in_place else guard.empty(states.shape, np.float32)
    out, table = guard.empty(states.shape, np.float32), guard.copy(sigmoid_table())
    for row in range(len(states)):
        program.gru_row(gates[row], state_gates[row], 0, states[row], states.shape[1], table, made[row], out[row])
    guard.check()
    return made.copy(), out.copy()


def random_operands(seed, rows, depth, spread=3.0):
    generator = np.random.default_rng(seed)
    numbers = (generator.standard_normal((rows, width)) for width in (3 * depth, 3 * depth, depth))
    return [(spread * values).astype(np.float32) for values in numbers]


@given(seeds, rows, depths, st.sampled_from([0.01, 3.0, 30.0]), st.sampled_from([0, 4, 36]))
@settings(deadline=None)
def test_equals_its_reference(program, seed, rows, depth, spread, misaligned):
    gates, state_gates, states = random_operands(seed, rows, depth, spread)
    expected = gru_row_reference(gates, state_gates, states)
    made, out = step(program, gates, state_gates, states, misaligned)
    # sums round by UNIT of their terms, which tanh and sigmoid do not enlarge; the reset gate's error is multiplied
    renewed = np.abs(state_gates[:, 2 * depth :].astype(np.float64))
    sums = UNIT * (np.abs(gates).sum(axis=1) + np.abs(state_gates).sum(axis=1))[:, None]
    candidate = 2 * SIGMOID + (SIGMOID + sums) * renewed + sums
    tolerance = candidate + (SIGMOID + sums) * (1 + np.abs(states)) + 4 * UNIT * (1 + np.abs(states))
    assert (np.abs(made - expected) <= tolerance).all()
    assert same_bits(out, made)


def test_open_and_closed_gates_keep_and_replace(program):
    gates, state_gates, states = random_operands(1, 2, 16)
    gates[0, 16:32], gates[1, 16:32] = 1000, -1000  # update gates of 1 and 0
    gates[1, :16] = -1000  # and nothing of the state is in the candidate
    made, _ = step(program, gates, state_gates, states)
    assert np.abs(made[0] - states[0]).max() <= 1e-6 * (1 + np.abs(states[0])).max()
    assert np.abs(made[1] - np.tanh(gates[1, 32:])).max() <= 1e-5


def test_the_state_may_be_overwritten(program):
    operands = random_operands(2, 1, 48)
    assert same_bits(step(program, *operands, in_place=True)[0], step(program, *operands)[0])
