"""Weighted sums: each number equals its definition to the bit, and neighbouring data stay."""

import numpy as np
import pytest

from tests.definitions.kernels import add_weighted_reference
from tests.support.float_steps import same_bits
from tests.support.guarded import Guards


@pytest.mark.parametrize("length", [0, 16, 48, 160])
@pytest.mark.parametrize("weight", [1.0, 0.3, 0.0])
@pytest.mark.parametrize("more", [False, True])
def test_adds_a_weighted_row(program, length, weight, more):
    guard, generator = Guards(0), np.random.default_rng(length)
    x, before = (generator.standard_normal(length).astype(np.float32) for _ in range(2))
    source, out = guard.copy(x), guard.empty(length, np.float32)
    out[:] = before
    program.add_weighted(source, length, weight, int(more), out)
    guard.check()
    assert same_bits(out, add_weighted_reference(x, np.float32(weight), before if more else None))


def test_in_place(program):
    x = np.random.default_rng(1).standard_normal(32).astype(np.float32)
    out = x.copy()
    program.add_weighted(out, 32, 0.7, 0, out)
    assert same_bits(out, add_weighted_reference(x, np.float32(0.7), None))
