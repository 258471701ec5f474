"""Measuring: how often, in interleaved rounds; medians and quartiles, and what the machine is."""

import json
import platform
import statistics
import time
from dataclasses import dataclass, field

from cpunmt.model.config import MOST_BEAM
from quantize.commands.shared_options import whole
from quantize.evaluation import speed

# What benchmarks are given, as types of arguments.
positive = whole(1, 1_000_000)  # rounds, sentences, rows, threads: with none there is nothing to measure
hypotheses = whole(1, MOST_BEAM)


@dataclass
class Timed:
    """One thing to measure: `run(times)` does the work `times` times."""

    name: str
    run: object
    work: float = 0.0  # operations of one time
    data: float = 0.0  # bytes of one time
    seconds: list = field(default_factory=list)  # of one time, a figure per round
    times: int = 1

    @property
    def median(self):
        return statistics.median(self.seconds)

    @property
    def best(self):
        return min(self.seconds)


def interleave(items: list[Timed], rounds: int, slice_seconds: float = 3e-3):
    """Measure all items in turn, `rounds` times: the machine's moods then hit all of them alike."""
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


def spread(values) -> str:
    """Quartiles around the median, as text."""
    if len(values) < 2:
        return "-"
    low, _, high = statistics.quantiles(values, n=4)
    return f"{low:.4g}..{high:.4g}"


def machine() -> dict:
    """What the figures were measured on."""
    return {**speed.machine(), "python": platform.python_version()}


def save(path, result: dict):
    """Write a result as JSON, if a path is given."""
    if path:
        with open(path, "w") as file:
            json.dump(result, file, indent=1)
            file.write("\n")
