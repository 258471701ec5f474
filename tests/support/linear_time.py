"""Measures whether time grows in proportion to the size of a text."""

import time
from collections.abc import Callable
from typing import Any


def takes_linear_time(use: Callable[[Any], object], content: Callable[[int], Any], count: int) -> None:
    """Asserts that `use(content(n))` takes time in proportion to n, from `count` to ten times that.

    Quadratic time would take 100 times as long; 40 times are allowed. The time of `content` does not count.
    """

    def seconds(size: int) -> float:
        made = content(size)
        began = time.process_time()
        use(made)
        return time.process_time() - began

    seconds(count // 10)
    measured = []
    for _ in range(5):  # a busy machine disturbs some attempts; quadratic time shows in each
        measured.append((seconds(count), seconds(10 * count)))
        short, long = map(min, zip(*measured, strict=True))
        if long < 40 * max(short, 0.005):
            return
    raise AssertionError(measured)
