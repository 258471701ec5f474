"""The speed of a model against its baseline: words per second of text in, text out."""

import os
import platform
import statistics
import time
from collections.abc import Callable
from typing import Any

from cpunmt import Translator
from cpunmt.simd import isa

SENTENCES = 300  # of a set, evenly spaced: a round takes a good part of a second


def sampled(sources: list[str]) -> list[str]:
    """Returns at most SENTENCES of the sentences."""
    return sources[:: max(1, -(-len(sources) // SENTENCES))]


def compare_speed(
    model: Translator,
    baseline: Translator,
    sources: list[str],
    settings: dict[str, Any],
    rounds: int,
    progress: Callable[[int], object] = lambda done: None,
) -> dict[str, Any]:
    """Returns words per second, one sentence at a time and in bulk: medians of the rounds; a ratio is the median of
    theirs.

    Both take turns, so that disturbances of the machine affect both. `progress` is called with the number of translated
    sentences. For a figure of one core, bind the process to it.
    """
    chosen, settings = sampled(sources), {"split": "none", **settings}
    words = sum(len(source.split()) for source in chosen)
    seconds: dict[tuple[str, str], list[float]] = {
        (mode, who): [] for mode in ("one_at_a_time", "bulk") for who in ("model", "baseline")
    }
    for translator in (model, baseline):
        translator.translate(chosen[:20], **settings)
    for _ in range(rounds):
        for who, translator in (("model", model), ("baseline", baseline)):
            began = time.perf_counter()
            for source in chosen:
                translator.translate(source, **settings)
            middle = time.perf_counter()
            translator.translate(chosen, **settings)
            seconds["one_at_a_time", who].append(middle - began)
            seconds["bulk", who].append(time.perf_counter() - middle)
            progress(len(chosen))
    found: dict[str, Any] = {"sentences": len(chosen), "words": words, "rounds": rounds}
    for mode in ("one_at_a_time", "bulk"):
        ours, theirs = seconds[mode, "model"], seconds[mode, "baseline"]
        found[mode] = {
            "baseline": words / statistics.median(theirs),
            "model": words / statistics.median(ours),
            "ratio": statistics.median(b / a for a, b in zip(ours, theirs, strict=True)),
        }
    return found


def machine() -> dict[str, Any]:
    """Returns a description of the machine that the figures were measured on."""
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as file:
            name = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), name)
    except OSError:
        pass
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    return {"cpu": name, "isa": isa.current().value, "cores": cores}
