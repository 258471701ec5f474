"""`--stats`: counts and times of a run of `cpunmt translate`."""

from __future__ import annotations

import contextlib
import sys
from array import array
from collections.abc import Sequence

import numpy as np

from cpunmt.files.console import say
from cpunmt.results.results import Result, sentences_in_markup


class RunStatistics:
    """Counts and times of one run."""

    def __init__(self, loading: float, texts: str = "lines"):
        """`loading`: seconds. `texts`: the heading of the number of lines or texts."""
        self._loading, self._texts = loading, texts
        self._lines = self._sentences = self._words = self._source_pieces = self._target_pieces = 0
        self._seconds = 0.0
        self._alone = array("d")  # seconds of each window of one line

    def add(self, texts: Sequence[str], results: Sequence[Result], seconds: float) -> None:
        """Counts a window of lines and their results."""
        self._lines += len(texts)
        self._source_pieces += sum(result.num_source_pieces for result in results)
        for text, result in zip(texts, results, strict=True):
            inner = sentences_in_markup(result.hypotheses[0])
            self._sentences += len(inner) or result.num_sentences
            self._words += sum(len(own.split()) for own, _ in inner) or len(text.split())
            self._target_pieces += sum(len(best.pieces) for _, best in inner) or len(result.pieces)
        self._seconds += seconds
        if len(texts) == 1:
            self._alone.append(seconds)

    def report(self, others: dict[str, int]) -> None:
        """Prints the statistics on stderr, with `others`, which maps headings to counts."""
        rate = self._words / self._seconds if self._seconds else 0.0
        lines = [
            (self._texts, f"{self._lines}"),
            ("sentences", f"{self._sentences}"),
            ("words", f"{self._words}"),
            ("source pieces", f"{self._source_pieces}"),
            ("target pieces", f"{self._target_pieces}"),
            *((name, f"{count}") for name, count in others.items()),
            ("loading", f"{self._loading:.3f} s"),
            ("translating", f"{self._seconds:.3f} s"),
            ("speed", f"{rate:.0f} words/s"),
        ]
        if self._alone and len(self._alone) == self._lines:
            middle, late = np.percentile(self._alone, (50, 95)) * 1000
            lines.append(("latency", f"{middle:.2f} ms (median), {late:.2f} ms (95th percentile)"))
        memory = _peak_memory()
        if memory:
            lines.append(("peak memory", f"{memory / 1e6:.0f} MB"))
        for name, value in lines:
            say(f"{name + ':':15}{value}")


def _peak_memory() -> int | None:
    """Returns the peak of resident bytes, or None if the system does not report it."""
    with contextlib.suppress(OSError), open("/proc/self/status") as file:  # not on macOS
        for line in file:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
