"""Additive attention: within the error of exp and of its roundings, and independent of neighbouring data."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.definitions.kernels import additive_scores_reference
from tests.kernels.rows import DEPTHS, MISALIGNED, SEEDS, check_independent
from tests.support.float_steps import UNIT, same_bits
from tests.support.guarded import Guards

EXP = 2e-7  # relative error of exp: kernels/activations
lengths = st.integers(1, 40)
spreads = st.sampled_from([0.01, 1.0, 10.0])


def random_operands(seed, length, depth, spread):
    """Draws keys, a query, and the weight of each place."""
    generator = np.random.default_rng(seed)
    keys, query = (spread * generator.standard_normal(shape) for shape in ((length, depth), depth))
    return keys.astype(np.float32), query.astype(np.float32), generator.standard_normal(depth).astype(np.float32)


def scores(program, keys, query, score, misaligned=0):
    """Computes float32 [length], through exponentials; checks the guards."""
    guard = Guards(misaligned)
    keys, query = guard.copy(keys, written=True), guard.copy(query, written=True)
    out = guard.empty(len(keys), np.float32)
    program.double_exponentials(keys, keys.size)
    program.double_exponentials(query, query.size)
    guard.check()
    read = guard.copy(keys), guard.copy(query), guard.copy(np.float32(-2) * score)
    program.additive_scores(*read, *keys.shape, out)
    guard.check()
    return out.copy()


@given(SEEDS, lengths, DEPTHS, spreads, MISALIGNED)
@settings(deadline=None)
def test_equals_its_reference(program, seed, length, depth, spread, misaligned):
    keys, query, score = random_operands(seed, length, depth, spread)
    made = scores(program, keys, query, score, misaligned)
    expected = additive_scores_reference(keys, query, score)
    # a quotient has the errors of its exponentials, each EXP and the rounding of its argument; sums round on top
    size = np.abs(score.astype(np.float64)).sum()
    arguments = 2 * UNIT * (np.abs(keys).max() + np.abs(query).max())
    assert (np.abs(made - expected) <= 2 * size * (2 * EXP + arguments + (depth / 16 + 12) * UNIT)).all()


@pytest.mark.parametrize(
    "key, query", [(0, 0), (9, 9), (-9, -9), (30, -30), (-30, 30.5), (43, 40), (200, 1), (-200, 1)]
)
def test_keys_and_queries_far_out(program, key, query):
    """An infinite product of exponentials, one that is nearly 0, and two that cancel."""
    keys, query = np.full((2, 96), key, np.float32), np.full(96, query, np.float32)
    score = np.linspace(-1, 1, 96).astype(np.float32) + 1
    made = scores(program, keys, query, score)
    assert np.allclose(made, additive_scores_reference(keys, query, score), atol=1e-3)


@given(SEEDS, st.integers(2, 40), DEPTHS)
@settings(deadline=None, max_examples=20)
def test_a_key_does_not_depend_on_the_others(program, seed, length, depth):
    keys, query, score = random_operands(seed, length, depth, 1.0)
    check_independent(seed, length, lambda part: [scores(program, keys[part], query, score)])


def test_exponentials_are_of_twice_the_number(program):
    x = np.linspace(-60, 60, 64).astype(np.float32)
    made = x.copy()
    program.double_exponentials(made, 64)
    inside = np.abs(x) < 43
    assert np.allclose(made[inside], np.exp(2 * x[inside].astype(np.float64)), rtol=1e-5)
    assert np.isfinite(made).all() and (made > 0).all() and same_bits(made[~inside & (x < 0)][:1], made[:1])
