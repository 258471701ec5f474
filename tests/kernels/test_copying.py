"""Copies: complete, without changes beside them."""

import numpy as np
import pytest

from tests.definitions.kernels import copy_floats_reference
from tests.support.float_steps import same_bits
from tests.support.guarded import Guards


@pytest.mark.parametrize("length", [0, 1, 15, 16, 17, 48, 61])
@pytest.mark.parametrize("misaligned", [0, 4])
def test_copies_all_and_no_more(program, length, misaligned):
    guard = Guards(misaligned)
    source = guard.copy(np.random.default_rng(length).standard_normal(length).astype(np.float32))
    target = guard.empty(length, np.float32)
    program.copy_floats(source, length, target)
    guard.check()
    assert same_bits(target, copy_floats_reference(source))
