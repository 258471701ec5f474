"""Waiting sentences, their requests, groups that share batches, and running batches."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable, Sequence

from cpunmt.alignment.aligned import Aligned
from cpunmt.decoding.call_settings import CHARS_PER_PIECE, Settings
from cpunmt.errors import CpunmtError
from cpunmt.process.stopping import Watch, under
from cpunmt.translator.text_pipeline import OfDirections

# The initial speed is a small model's: too low an estimate would refuse requests that are served in time. The first
# batches are slow, so they count little.
_PIECES, _SECONDS = 10_000.0, 0.5
_HALF_LIFE = 5.0  # seconds of work after which a batch counts half in the measured speed
_PATIENCE = 0.2  # seconds that a batch runs while others wait
_QUICK = 256  # pieces of a batch too short to be interrupted


class Task:
    """A client's request in the scheduler: the sentences it waits for."""

    def __init__(self, cancel: Callable[[Task], None], tell: Callable[[], None] | None = None):
        """`cancel`: the scheduler's reaction when the request is cancelled. `tell`: called in any thread when all
        sentences are done or the request is cancelled; None: a thread waits.
        """
        self._cancel, self._tell = cancel, tell
        self.cancelled = False
        self.credit = 0  # pieces left of its turn; below 0 if it had more
        self.turns = 0  # number of its turns so far
        self.jobs: deque[Job] = deque()  # not taken by a worker
        self.wanted: list[Job] = []  # all that it waits for
        self.left = 0  # pieces not taken by a worker, about
        self.missing = 0  # number of unfinished jobs
        self.group: Group | None = None
        self._is_done = None if tell else threading.Event()

    def begin(self, jobs: list[Job], group: Group) -> None:
        """Makes the request wait for these jobs."""
        self.wanted, self.group, self.jobs = jobs, group, deque(job for job in jobs if not job.taken)
        self.missing, self.left = len(jobs), sum(job.size for job in self.jobs)
        for job in jobs:
            job.tasks.add(self)
        if self._is_done:
            self._is_done.clear()

    @property
    def share(self) -> float:
        """The finished share of the sentences that it waits for; 0 while it waits for none."""
        return 1 - self.missing / len(self.wanted) if self.missing else 0.0

    def wait(self) -> None:
        """Waits until all jobs are done or the request is cancelled."""
        assert self._is_done
        self._is_done.wait()

    def end(self) -> None:
        if self._is_done:
            self._is_done.set()
        elif self._tell:
            self._tell()

    def cancel(self) -> None:
        """Tells the scheduler that the answer is not needed any more."""
        self._cancel(self)

    def next(self) -> Job | None:
        """Returns its first job without a worker, or None."""
        while self.jobs and self.jobs[0].taken:
            self.left -= self.jobs.popleft().size
        return self.jobs[0] if self.jobs else None


class Job:
    """A sentence to be translated, for one or more requests."""

    __slots__ = ("error", "forced", "key", "result", "settings", "size", "taken", "tasks", "text")

    def __init__(self, key: Hashable, text: str, forced: list[int], settings: Settings, size: int):
        self.key, self.text, self.forced, self.settings, self.size = key, text, forced, settings, size
        self.tasks: set[Task] = set()
        self.taken = False
        self.result: Aligned | None = None
        self.error: Exception | None = None


class Group:
    """Requests that may share batches, in the order of their turns; their settings differ in languages only."""

    def __init__(self, number: int, sentences: OfDirections, beam_size: int):
        self.number, self._sentences, self._beam_size = number, sentences, beam_size
        self.tasks: OrderedDict[Task, None] = OrderedDict()
        self._was_long = False

    def size(self, text: str) -> int:
        """Estimates the pieces of a sentence, multiplied by the size of the beam."""
        return self._beam_size * (len(text) // CHARS_PER_PIECE + 1)

    def translate(self, jobs: Sequence[Job]) -> list[Aligned]:
        each = [job.settings for job in jobs]
        return self._sentences([job.text for job in jobs], [job.forced for job in jobs], each)

    def batch(self, room: int, long: bool = True) -> list[Job]:
        """Takes jobs without a worker, of at most `room` pieces.

        A longer sentence comes alone, every second time while others wait, and only if `long`.
        """
        found = self._of_turns(room, long and not self._was_long)
        if not found and long:
            found = self._of_turns(room, True)
        self._was_long = sum(job.size for job in found) > room
        for task in [task for task in self.tasks if task.next() is None]:
            del self.tasks[task]
        return found

    def _of_turns(self, room: int, long: bool) -> list[Job]:
        found: list[Job] = []
        left, waiting = room, deque(self.tasks)
        while waiting and left > 0:
            task = waiting.popleft()
            if task.credit <= 0:
                task.credit += turn(task.turns, room)
                task.turns += 1
            while task.credit > 0 and (job := task.next()):
                if job.size > left and not (long and not found and job.size > room):
                    break
                job.taken = True
                found.append(job)
                left -= job.size
                task.credit -= job.size
            if task.credit <= 0 and task.next():
                self.tasks.move_to_end(task)
                waiting.append(task)
        return found


def turn(number: int, batch: int) -> int:
    """Returns the pieces of a request's turn; `number` counts from 0.

    A sentence is done after one turn and a list of 30 after five, so that it waits at most about five times as long.
    Longer requests are documents: others do not wait for them as for a list.
    """
    return max(1, batch // 16) * (1, 2, 4, 8, 16, 4)[min(number, 5)]


def pieces_before(pieces: int, others: Iterable[int], batch: int) -> int:
    """Estimates the maximum number of other requests' pieces that are translated before a request of `pieces` is done.

    `others`: the pieces of each of them. Until a request is done, each other one has as many turns.
    """
    number = granted = 0
    while granted < pieces and number < 1000:
        granted += turn(number, batch)
        number += 1
    most = max(granted, number * turn(5, batch))
    return sum(min(left, most) for left in others)


class Speed:
    """The speed of a worker. One thread uses it at a time."""

    def __init__(self) -> None:
        self._pieces, self._seconds = _PIECES, _SECONDS  # sums over batches, older ones with less weight

    def add(self, pieces: int, seconds: float) -> None:
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
        self._lent = 0.0  # seconds given to others

    def translate(self, group: Group) -> None:
        """Sets the result or the error of each job."""
        watch = Watch(cancel=self._is_to_end) if self.pieces > _QUICK else None
        _translate(group, self._jobs, watch)

    def seconds(self) -> float:
        """Returns the seconds that the batch has taken, without those lent to others."""
        return time.monotonic() - self._began - self._lent

    def _is_to_end(self) -> bool:
        """Returns whether the batch should end; the engine calls it several times a second."""
        if self._forget(self._jobs):
            return True
        now = time.monotonic()
        if self._let_pass is not None and now - self._since >= _PATIENCE:
            self._let_pass(now - self._since)
            self._since = time.monotonic()
            self._lent += self._since - now
        return False


def _translate(group: Group, jobs: Sequence[Job], watch: Watch | None) -> None:
    """Translates jobs; if that raises, translates each job alone, as one sentence may be wrong."""
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
