"""The choice of slow cases in a table."""

import pytest

from tests.support.speeds import crossed, slow_after


def told(cases) -> list:
    """Returns (values, whether they are slow) of each case."""
    return [(getattr(case, "values", case), bool(getattr(case, "marks", ()))) for case in cases]


def test_cases_after_the_first_are_slow():
    assert told(slow_after(1, ["a", "b"])) == [("a", False), (("b",), True)]
    assert told(slow_after(0, [(1, 2), pytest.param(3, 4, id="x")])) == [((1, 2), True), ((3, 4), True)]


def test_each_value_has_one_quick_pair():
    quick = [pair for pair, is_slow in told(crossed("abc", (1, 2))) if not is_slow]
    assert quick == [("a", 1), ("b", 2), ("c", 1)]
    assert len(crossed("abc", (1, 2))) == 6
