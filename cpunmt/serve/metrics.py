"""A server's metrics for Prometheus. No label has a client's address, key or text.

A request updates a dozen of them and is short, so they are plain numbers until prometheus_client reads them.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric

_SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
_PIECES = (8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)


class Metrics:
    """Counters of one server."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(self)  # it has a collector's `collect`
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._loads = self._sentences = self._pieces = self._asked = self._kept = 0
        self._busy = 0.0
        self._waits, self._batches = _Histogram(_SECONDS), _Histogram(_PIECES)
        self._gauges: list[tuple[str, str, Callable[[], float]]] = []

    def watch(self, name: str, text: str, value: Callable[[], float]) -> None:
        """Adds a value that is computed on every read."""
        self._gauges.append((name, text, value))

    def answered(self, path: str, status: int) -> None:
        """Counts an answer; called in the event loop."""
        self._requests[path, status] += 1

    def loaded(self) -> None:
        with self._lock:
            self._loads += 1

    def batch(self, pieces: int, sentences: int, seconds: float) -> None:
        with self._lock:
            self._batches.observe(pieces)
            self._sentences += sentences
            self._pieces += pieces
            self._busy += seconds

    def looked_up(self, kept: int, asked: int) -> None:
        """Counts a request's sentences, and its cache hits."""
        with self._lock:
            self._kept += kept
            self._asked += asked

    def waited(self, seconds: float) -> None:
        """Adds the time that a request waited for its sentences."""
        with self._lock:
            self._waits.observe(seconds)

    def text(self) -> bytes:
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """Yields all metrics in prometheus_client's form."""
        requests = CounterMetricFamily("cpunmt_requests", "Requests that were answered", labels=["path", "status"])
        for (path, status), count in sorted(self._requests.items()):
            requests.add_metric([path, str(status)], count)
        yield requests
        with self._lock:
            counters = (
                ("cold_loads", "Times that a model was loaded", self._loads),
                ("sentences", "Sentences that were translated", self._sentences),
                ("pieces", "Source pieces, about, that were translated", self._pieces),
                ("busy_seconds", "Seconds that workers translated", self._busy),
                ("sentences_asked", "Sentences that requests asked for", self._asked),
                ("cache_hits", "Sentences that had been translated before", self._kept),
            )
            histograms = (
                ("wait_seconds", "From handing sentences over to their end", *self._waits.found()),
                ("batch_pieces", "Source pieces, about, of a batch", *self._batches.found()),
            )
        for name, text, value in counters:
            yield CounterMetricFamily(f"cpunmt_{name}", text, value=value)
        for name, text, buckets, total in histograms:
            yield HistogramMetricFamily(f"cpunmt_{name}", text, buckets=buckets, sum_value=total)
        for name, text, now in self._gauges:
            yield GaugeMetricFamily(f"cpunmt_{name}", text, value=now())


class _Histogram:
    """A histogram."""

    def __init__(self, bounds: Sequence[float]):
        self._bounds, self._counts, self._sum = bounds, [0] * (len(bounds) + 1), 0.0

    def observe(self, value: float) -> None:
        """Counts a value; a bound belongs to the range below it."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def found(self) -> tuple[list[tuple[str, float]], float]:
        """Returns (the number of values up to each bound, the sum of all)."""
        buckets: list[tuple[str, float]] = []
        count = 0
        for bound, more in zip((*map(float, self._bounds), "+Inf"), self._counts, strict=True):
            count += more
            buckets.append((str(bound), count))
        return buckets, self._sum
