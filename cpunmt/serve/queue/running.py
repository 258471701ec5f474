"""A batch that is being translated: how fast, who may pass meanwhile, and what is wrong with a sentence of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from cpunmt.errors import CpunmtError
from cpunmt.process.stopping import Watch, under
from cpunmt.serve.queue.waiting import Group, Job

# The speed that a worker begins with is that of a small model, so that no request is refused that would be served in
# time. The first batches are slow, and tell little.
_PIECES, _SECONDS = 10_000.0, 0.5
_HALF_LIFE = 5.0  # seconds of work after which a batch counts half in the measured speed
_PATIENCE = 0.2  # seconds that a batch goes on while others wait
_QUICK = 256  # pieces that are translated before it would be looked whether they take long


class Speed:
    """How many pieces a worker translates in a second; for one thread at a time."""

    def __init__(self) -> None:
        self._pieces, self._seconds = _PIECES, _SECONDS  # that batches had, the older the less

    def add(self, pieces: int, seconds: float) -> None:
        """A batch was translated."""
        kept = 0.5 ** (seconds / _HALF_LIFE)
        self._pieces, self._seconds = self._pieces * kept + pieces, self._seconds * kept + seconds

    def seconds_of(self, pieces: int) -> float:
        """Returns how long a worker takes for so many pieces, about."""
        return pieces * self._seconds / self._pieces


class RunningBatch:
    """Jobs that a worker has: they end when nobody waits for them, and let others pass when they take long."""

    def __init__(
        self, jobs: Sequence[Job], forget: Callable[[Sequence[Job]], bool], let_pass: Callable[[float], None] | None
    ):
        """`forget`: says whether all who waited for the jobs have left, and lets nobody else wait for them then.
        `let_pass`: translates what waits, for about as many seconds as it is given; None: nothing may pass."""
        self._jobs, self._forget, self._let_pass = jobs, forget, let_pass
        self.pieces = sum(job.size for job in jobs)
        self._began = self._since = time.monotonic()
        self._lent = 0.0  # seconds, to others

    def translate(self, group: Group) -> None:
        """Gives each job its result, or its error."""
        watch = Watch(cancel=self._is_to_end) if self.pieces > _QUICK else None
        _translate(group, self._jobs, watch)

    def seconds(self) -> float:
        """Returns how long it has taken, without others."""
        return time.monotonic() - self._began - self._lent

    def _is_to_end(self) -> bool:
        """Called by the engine several times a second."""
        if self._forget(self._jobs):
            return True
        now = time.monotonic()
        if self._let_pass is not None and now - self._since >= _PATIENCE:
            self._let_pass(now - self._since)
            self._since = time.monotonic()
            self._lent += self._since - now
        return False


def _translate(group: Group, jobs: Sequence[Job], watch: Watch | None) -> None:
    """If a batch raises, each job is translated alone: what is wrong with one harms no other."""
    try:
        with under(watch):
            made = group.translate(jobs)
        for job, aligned in zip(jobs, made, strict=True):
            job.result = aligned
    except BaseException as error:  # whatever it is, the worker's place is given back and nobody waits for ever
        if len(jobs) == 1:
            jobs[0].error = (
                error if isinstance(error, Exception) else CpunmtError(f"it ended by {type(error).__name__}")
            )
            return
        for job in jobs:
            _translate(group, [job], watch)
