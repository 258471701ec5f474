"""Random rows, and the common promise of all kernels on rows."""

import numpy as np
from hypothesis import strategies as st

from tests.support.float_steps import same_bits

SEEDS = st.integers(0, 2**32 - 1)
ROWS = st.integers(1, 70)
DEPTHS = st.integers(1, 20).map(lambda n: 16 * n)
COLUMNS = st.integers(1, 20 * 16)
MISALIGNED = st.sampled_from([0, 4, 36])  # bytes


def check_independent(seed, rows, run):
    """Checks that `run(part)` returns the same bits for the rows of a slice as for all rows."""
    generator = np.random.default_rng(seed)
    first = generator.integers(rows)
    part = slice(first, generator.integers(first, rows) + 1)
    for alone, together in zip(run(part), run(slice(None)), strict=True):
        assert alone.dtype == together.dtype and same_bits(alone, np.ascontiguousarray(together[part]))
