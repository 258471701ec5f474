"""The top k scores, against a stable sort."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.kernels.softmax import LOWEST
from tests.definitions.kernels import top_k_reference
from tests.kernels.rows import MISALIGNED
from tests.support.float_steps import same_bits
from tests.support.guarded import Guards


def choose(program, scores, k, misaligned=0):
    """Returns (indices, values) of the kernel; checks the guards."""
    guard = Guards(misaligned)
    room = np.full(-(-len(scores) // 16) * 16, LOWEST, np.float32)
    room[: len(scores)] = scores
    indices, values = guard.empty(k, np.int64), guard.empty(k, np.float32)
    found = program.top_k(guard.copy(room), len(room), k, indices, values)
    guard.check()
    return indices[:found].copy(), values[:found].copy()


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 400),
    st.integers(1, 70),
    st.sampled_from([3, 1000, 2**24]),
    MISALIGNED,
)
@settings(deadline=None)
def test_equals_its_reference(program, seed, length, k, different, misaligned):
    """With three different scores most are equal; the first of equal ones comes first."""
    generator = np.random.default_rng(seed)
    scores = (generator.integers(0, different, length) - different / 2).astype(np.float32)
    scores[generator.random(length) < 0.1] = LOWEST  # barred
    if (scores == LOWEST).all():
        scores[length // 2] = 0
    indices, values = choose(program, scores, k, misaligned)
    assert indices.tolist() == top_k_reference(scores, k).tolist()
    assert same_bits(values, scores[indices])


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("place", [0, 15, 16, 31, 32, 47])
def test_finds_every_place(program, place, k):
    scores = np.full(48, -5, np.float32)
    scores[place] = -4
    assert choose(program, scores, k)[0][0] == place
    scores[:place] = -np.inf  # infinities lose to any number
    assert choose(program, scores, k)[0][0] == place


@pytest.mark.parametrize("k", [1, 5])
@pytest.mark.parametrize("value", [np.nan, -np.inf, LOWEST])
def test_no_number_leads_nowhere_else(program, k, value):
    indices, _ = choose(program, np.full(40, value, np.float32), k)
    assert len(indices) == 1 and 0 <= indices[0] < 48
