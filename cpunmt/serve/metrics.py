"""What a server tells of itself, for Prometheus. No label has a client's address, key or text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

if TYPE_CHECKING:
    from cpunmt.serve.model_host import ModelHost
    from cpunmt.serve.scheduler import Scheduler

_SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
_PIECES = (8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)


class Metrics:
    """Counters of one server."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        made: Any = {"registry": self._registry, "namespace": "cpunmt"}
        self.requests = Counter("requests", "Requests that were answered", ["path", "status"], **made)
        self.in_flight = Gauge("requests_in_flight", "Requests in progress", **made)
        self.cold_loads = Counter("cold_loads", "Times that a model was loaded", **made)
        self._waits = Histogram("wait_seconds", "From handing sentences over to their end", buckets=_SECONDS, **made)
        self._batches = Histogram("batch_pieces", "Source pieces, about, of a batch", buckets=_PIECES, **made)
        self._sentences = Counter("sentences", "Sentences that were translated", **made)
        self._pieces = Counter("pieces", "Source pieces, about, that were translated", **made)
        self._busy = Counter("busy_seconds", "Seconds that workers translated", **made)
        self._asked = Counter("sentences_asked", "Sentences that requests asked for", **made)
        self._kept = Counter("cache_hits", "Sentences that had been translated before", **made)
        self._queued = Gauge("queued_sentences", "Sentences that wait", **made)
        self._bytes = Gauge("model_bytes", "Bytes of the weights that are loaded", **made)

    def watch(self, scheduler: Scheduler, host: ModelHost) -> None:
        """Tell of these, whenever the metrics are read."""
        self._queued.set_function(lambda: scheduler.queued)
        self._bytes.set_function(lambda: host.loaded_bytes)

    def batch(self, pieces: int, sentences: int, seconds: float) -> None:
        """A batch was translated."""
        self._batches.observe(pieces)
        self._sentences.inc(sentences)
        self._pieces.inc(pieces)
        self._busy.inc(seconds)

    def looked_up(self, kept: int, asked: int) -> None:
        """A request asked for sentences, some of which are kept."""
        self._kept.inc(kept)
        self._asked.inc(asked)

    def waited(self, seconds: float) -> None:
        """The sentences of a request are translated."""
        self._waits.observe(seconds)

    def text(self) -> bytes:
        """All of them as Prometheus reads them."""
        return generate_latest(self._registry)
