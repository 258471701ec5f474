"""Times of work in interleaved rounds: medians, ratios and quartiles."""

import contextlib
import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple


@dataclass
class Timed:
    """A measured item: `run(times)` does the work `times` times."""

    name: str
    run: Callable[[int], object]
    work: float = 0.0  # operations of one time
    data: float = 0.0  # bytes of one time
    seconds: list[float] = field(default_factory=list)  # of one time, a figure per round
    times: int = 1

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def best(self) -> float:
        return min(self.seconds)


def interleave(items: list[Timed], rounds: int, slice_seconds: float = 3e-3) -> None:
    """Measures all items in turn, `rounds` times, so that changes of the machine's speed affect all of them alike."""
    for item in items:
        item.run(1)
        while True:
            began = time.perf_counter()
            item.run(item.times)
            passed = time.perf_counter() - began
            if passed > slice_seconds / 3:
                break
            item.times *= 2
        item.times = max(1, round(item.times * slice_seconds / passed))
    for _ in range(rounds):
        for item in items:
            began = time.perf_counter()
            item.run(item.times)
            item.seconds.append((time.perf_counter() - began) / item.times)


def repeated(run: Callable[[], object]) -> Callable[[int], None]:
    """Returns a function for `Timed`, which calls `run` repeatedly."""

    def repeat(times: int) -> None:
        for _ in range(times):
            run()

    return repeat


class Turns(NamedTuple):
    """Measurements of `in_turn`, by the name of each way."""

    seconds: dict[Any, list[float]]  # a figure per round
    made: dict[Any, Any]  # what the last round returned


def in_turn(
    ways: Mapping[Any, Callable[[], object]], rounds: int, clock: Callable[[], float] = time.process_time, warm: int = 0
) -> Turns:
    """Runs all ways in turn, `rounds` times after `warm` rounds that fill the caches; CPU time by default."""
    found = Turns({name: [] for name in ways}, {})
    for number in range(-warm, rounds):
        for name, run in ways.items():
            began = clock()
            found.made[name] = run()
            passed = clock() - began
            if number >= 0:
                found.seconds[name].append(passed)
    return found


def seconds_of(
    run: Callable[[], object], rounds: int = 1, clock: Callable[[], float] = time.process_time
) -> list[float]:
    """Returns the seconds of one way alone, a figure per round; CPU time by default."""
    return in_turn({"": run}, rounds, clock).seconds[""]


def median_ratio(slow: list[float], fast: list[float]) -> float:
    """Returns the median speed ratio of the second to the first within each round."""
    return statistics.median(a / b for a, b in zip(slow, fast, strict=True))


def spread(values: Sequence[float]) -> str:
    """Returns the quartiles around the median, as text."""
    if len(values) < 2:
        return "-"
    low, _, high = statistics.quantiles(values, n=4)
    return f"{low:.4g}..{high:.4g}"


@contextlib.contextmanager
def pinned(core: int) -> Iterator[None]:
    """Keeps this process on one core within the block."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)
