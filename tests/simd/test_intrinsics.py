"""Intrinsics called by compiled code: their arguments fit their emitters, and records lie on the stack."""

import numpy as np
import pytest


def test_a_function_is_called_as_what_emits_it():
    import numba

    from cpunmt.simd.intrinsics import lesser

    assert lesser.__name__ == "lesser" and lesser.__doc__.startswith("Returns the smaller of two int64")
    assert numba.njit(lambda x: lesser(y=x, x=3))(2) == 2
    with pytest.raises((TypeError, numba.TypingError), match="missing a required argument: 'y'"):
        numba.njit(lambda x: lesser(x))(2)


def test_records_of_one_call_lie_apart():
    """Each has one place, however often it is made: a loop does not grow the stack."""
    import numba

    from cpunmt.simd.intrinsics import address_of, local_record

    make = local_record(np.dtype([("small", np.int32), ("number", np.float32), ("large", np.int64)], align=True))

    @numba.njit
    def run(times):
        first, second, apart = make(), make(), 0
        first.large, second.large = 1, 2
        for i in range(times):
            inner = make()
            inner.small, inner.number, inner.large = i, i + 0.5, i
            apart += address_of(inner) % 8
        return first.large, second.large, inner.small, inner.number, inner.large, apart

    assert run(1_000_000) == (1, 2, 999_999, 999_999.5, 999_999, 0)
