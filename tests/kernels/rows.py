"""What the tests of kernels on rows draw, and what every such kernel promises."""

import numpy as np
from hypothesis import strategies as st

from tests.support.float_steps import same_bits

SEEDS = st.integers(0, 2**32 - 1)
ROWS = st.integers(1, 70)
DEPTHS = st.integers(1, 20).map(lambda n: 16 * n)
COLUMNS = st.integers(1, 20 * 16)
MISALIGNED = st.sampled_from([0, 4, 36])  # bytes


def check_independent(seed, rows, run):
    """`run(part)` gives arrays of the rows in a slice: those of any slice are the bits that they are among all."""
    generator = np.random.default_rng(seed)
    first = generator.integers(rows)
    part = slice(first, generator.integers(first, rows) + 1)
    for alone, together in zip(run(part), run(slice(None)), strict=True):
        assert alone.dtype == together.dtype and same_bits(alone, np.ascontiguousarray(together[part]))
