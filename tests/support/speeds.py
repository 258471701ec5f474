"""Marks the cases that the quick set of tests (`make test`) leaves to the thorough one (`make test-all`)."""

import pytest
from _pytest.mark import ParameterSet


def slow_after(count: int, cases) -> list:
    """Returns the cases of a `parametrize`; all but the first `count` are marked slow.

    A case is one value, a tuple of the values of several arguments, or a `pytest.param`.
    """
    cases = list(cases)
    return [*cases[:count], *map(slow, cases[count:])]


def slow(case):
    """Returns a case of a `parametrize`, marked slow."""
    if isinstance(case, ParameterSet):
        return pytest.param(*case.values, marks=[*case.marks, pytest.mark.slow], id=case.id)
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)


def crossed(first, second) -> list:
    """Returns all pairs of values for a `parametrize`; marks pairs slow, except enough to include each value once."""
    first, second = list(first), list(second)
    quick = {(i % len(first), i % len(second)) for i in range(max(len(first), len(second)))}
    return [
        (one, other) if (i, j) in quick else slow((one, other))
        for i, one in enumerate(first)
        for j, other in enumerate(second)
    ]
