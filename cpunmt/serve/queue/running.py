"""Batches that are being translated: their speed, jobs that pass them, and errors of single sentences."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from cpunmt.errors import CpunmtError
from cpunmt.process.stopping import Watch, under
from cpunmt.serve.queue.waiting import Group, Job

# The speed to begin with is that of a small model: too low an estimate would refuse requests that are served in time.
# The first batches are slow, so they count little.
_PIECES, _SECONDS = 10_000.0, 0.5
_HALF_LIFE = 5.0  # seconds of work after which a batch counts half in the measured speed
_PATIENCE = 0.2  # seconds that a batch goes on while others wait
_QUICK = 256  # pieces of a batch that is never asked whether it is to end: it is done before


class Speed:
    """The speed of a worker. One thread uses it at a time."""

    def __init__(self) -> None:
        self._pieces, self._seconds = _PIECES, _SECONDS  # sums over batches, older ones with less weight

    def add(self, pieces: int, seconds: float) -> None:
        """Counts a batch of `pieces` that took `seconds`."""
        kept = 0.5 ** (seconds / _HALF_LIFE)
        self._pieces, self._seconds = self._pieces * kept + pieces, self._seconds * kept + seconds

    def seconds_of(self, pieces: int) -> float:
        """Estimates the seconds that a worker takes for `pieces`."""
        return pieces * self._seconds / self._pieces


class RunningBatch:
    """Jobs that a worker translates: they end when their clients have left, and let others pass if they take long."""

    def __init__(
        self, jobs: Sequence[Job], forget: Callable[[Sequence[Job]], bool], let_pass: Callable[[float], None] | None
    ):
        """`forget`: returns whether no request waits for the jobs any more; no other request can join them then.
        `let_pass`: translates waiting jobs for about the given number of seconds; None: nothing may pass."""
        self._jobs, self._forget, self._let_pass = jobs, forget, let_pass
        self.pieces = sum(job.size for job in jobs)
        self._began = self._since = time.monotonic()
        self._lent = 0.0  # seconds, to others

    def translate(self, group: Group) -> None:
        """Sets the result or the error of each job."""
        watch = Watch(cancel=self._is_to_end) if self.pieces > _QUICK else None
        _translate(group, self._jobs, watch)

    def seconds(self) -> float:
        """Returns the seconds that the batch has taken, without those lent to others."""
        return time.monotonic() - self._began - self._lent

    def _is_to_end(self) -> bool:
        """Returns whether the batch is to end; the engine calls it several times a second."""
        if self._forget(self._jobs):
            return True
        now = time.monotonic()
        if self._let_pass is not None and now - self._since >= _PATIENCE:
            self._let_pass(now - self._since)
            self._since = time.monotonic()
            self._lent += self._since - now
        return False


def _translate(group: Group, jobs: Sequence[Job], watch: Watch | None) -> None:
    """Translates jobs; if that raises, each job alone, so that a wrong sentence does not harm the others."""
    try:
        with under(watch):
            made = group.translate(jobs)
        for job, aligned in zip(jobs, made, strict=True):
            job.result = aligned
    except BaseException as error:  # of any kind, else the worker's place is lost and its clients wait for ever
        if len(jobs) == 1:
            jobs[0].error = (
                error if isinstance(error, Exception) else CpunmtError(f"it ended by {type(error).__name__}")
            )
            return
        for job in jobs:
            _translate(group, [job], watch)
