"""What every kernel on rows promises: a row's result does not depend on the others."""

import numpy as np

from tests.support.float_steps import same_bits


def check_independent(seed, rows, run):
    """`run(part)` gives arrays of the rows in a slice: those of any slice are the bits that they are among all."""
    generator = np.random.default_rng(seed)
    first = generator.integers(rows)
    part = slice(first, generator.integers(first, rows) + 1)
    for alone, together in zip(run(part), run(slice(None)), strict=True):
        assert alone.dtype == together.dtype and same_bits(alone, np.ascontiguousarray(together[part]))
