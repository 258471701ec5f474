"""Sentences that wait, and the threads that translate them, many together.

A request runs in a thread of its own: what cuts texts and puts them together again hands its sentences to `Scheduler`
and waits. There is no timer. A worker that has nothing to do takes what waits now, up to a budget: sentences of one
group, which are those of the same model and options. So a batch is small while there is little to do, and grows with
the load.

Who comes first: groups in turns; in a group the request that waits longest has one sentence in each batch, so that it
goes on whatever comes, and the rest is for those of which least has been translated so far. A short request so waits
for one batch of a long one at most.

A translation depends on model, options and sentence and on nothing else. So equal sentences that wait are translated
once, and what has been translated is kept (`ByteCache`), which no answer can be told by.
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Hashable, Sequence
from typing import NamedTuple, Protocol

from cpunmt.errors import CancelledError
from cpunmt.serve.byte_cache import ByteCache
from cpunmt.serve.errors import ServeError
from cpunmt.translation.calls import LETTERS, Settings
from cpunmt.translation.interface.whole_texts import Sentences
from cpunmt.translation.texts.aligned import Aligned

_KNOWN_GROUPS = 1000
_PIECES, _SECONDS = 2000.0, 2.0  # what the speed of a worker begins with: the first batches are slow, and tell little
_HALF_LIFE = 5.0  # seconds of work after which a batch counts half in the measured speed


class Watcher(Protocol):
    """Who is told what happens; see `metrics`."""

    def batch(self, pieces: int, sentences: int, seconds: float) -> None: ...
    def looked_up(self, kept: int, asked: int) -> None: ...
    def waited(self, seconds: float) -> None: ...


class Limits(NamedTuple):
    """What is translated together, and how much may wait.

    batch     pieces of a batch, about
    sentences that may wait
    deadline  seconds that may pass until all that waits is translated
    """

    batch: int = 1024
    sentences: int = 20_000
    deadline: float = 30.0


class Task:
    """A client's request, as the scheduler sees it: which sentences it waits for."""

    def __init__(self, scheduler: Scheduler):
        self._scheduler = scheduler
        self.cancelled = False
        self.attained = 0  # pieces of it that have been translated
        self.jobs: deque[_Job] = deque()  # that no worker has taken for it
        self.wanted: list[_Job] = []  # all that it waits for
        self.left = 0  # pieces of those that are not done
        self.missing = 0  # how many these are
        self.group: _Group | None = None
        self.done = threading.Event()

    def cancel(self) -> None:
        """Nobody waits for the answer any more."""
        self._scheduler._cancel(self)

    def take(self, room: int, one: bool = False) -> list[_Job]:
        """Jobs of it for a worker, as many as there is room for; `one`: the next, however large."""
        found: list[_Job] = []
        while self.jobs and (room > 0 or self.jobs[0].taken):
            job = self.jobs[0]
            if not job.taken:
                if job.size > room and not one:
                    break
                job.taken = True
                found.append(job)
                room = 0 if one else room - job.size
                self.attained += job.size
            self.jobs.popleft()
        return found


class _Job:
    """A sentence that is to be translated, for one request or more."""

    __slots__ = ("error", "forced", "key", "result", "size", "taken", "tasks", "text")

    def __init__(self, key: Hashable, text: str, forced: list[int]):
        self.key, self.text, self.forced = key, text, forced
        self.size = len(text) // LETTERS + 1
        self.tasks: set[Task] = set()
        self.taken = False
        self.result: Aligned | None = None
        self.error: Exception | None = None


class _Group:
    """Requests whose sentences may be translated together."""

    def __init__(self, number: int, sentences: Sentences, settings: Settings):
        self.number, self._sentences, self._settings = number, sentences, settings
        self.tasks: OrderedDict[Task, None] = OrderedDict()
        self._was_large = False

    def translate(self, jobs: Sequence[_Job]) -> list[Aligned]:
        return self._sentences([job.text for job in jobs], [job.forced for job in jobs], self._settings)

    def batch(self, room: int) -> list[_Job]:
        """Jobs that no worker has, of about `room` pieces; a sentence that is longer comes alone, every second time."""
        found = [] if self._was_large else self._next()
        left = room - sum(job.size for job in found)
        for task in sorted(self.tasks, key=lambda task: (task.attained, task.left)):
            taken = task.take(left)
            found += taken
            left -= sum(job.size for job in taken)
        if not found:
            found = self._next()
            left = room - sum(job.size for job in found)
        self._was_large = left < 0
        for task in [task for task in self.tasks if not task.jobs]:
            del self.tasks[task]
        return found

    def _next(self) -> list[_Job]:
        """A job of the request that waits longest, which is behind the others then."""
        oldest = next(iter(self.tasks))
        self.tasks.move_to_end(oldest)
        return oldest.take(1, True)


class Scheduler:
    """Threads that translate what requests wait for. `close` ends them."""

    def __init__(self, workers: int, limits: Limits, cache_bytes: int, watcher: Watcher):
        self._limits, self._watcher, self._count = limits, watcher, workers
        self._lock = threading.Lock()
        self._work = threading.Condition(self._lock)
        self._cache: ByteCache[Aligned] = ByteCache(cache_bytes)
        self._flying: dict[Hashable, _Job] = {}
        self._groups: OrderedDict[int, _Group] = OrderedDict()  # those with something to do, next first
        self._numbers: OrderedDict[Hashable, int] = OrderedDict()
        self._next = 0
        self._pieces, self._seconds = _PIECES, _SECONDS  # that batches had, the older the less
        self._closed = False
        self.queued = 0  # sentences that wait
        self._queued_pieces = 0
        self._threads = [
            threading.Thread(target=self._run, name=f"cpunmt serve_{number}", daemon=True) for number in range(workers)
        ]
        for thread in self._threads:
            thread.start()

    def task(self) -> Task:
        """A new request."""
        return Task(self)

    def through(self, task: Task, key: Hashable, sentences: Sentences) -> Sentences:
        """What translates as `sentences` does, together with others' sentences.

        `key` says what it is, apart from settings: sentences of equal keys and settings are translated by any of them.
        It raises CancelledError if the request is cancelled, ServeError if there is too much to do.
        """

        def translate(texts: Sequence[str], forced: Sequence[list[int]], settings: Settings) -> list[Aligned]:
            return self._translated(task, (key, settings), sentences, texts, forced)

        return translate

    def wait(self) -> float:
        """Seconds until all that waits is translated, about."""
        return self._queued_pieces * self._seconds / (self._pieces * self._count)

    def stop(self) -> None:
        """Nothing that waits is translated any more, and nothing is taken."""
        with self._lock:
            self._closed = True
            self._groups.clear()
            for job in [job for job in self._flying.values() if not job.taken]:
                job.error, job.taken = _cancelled(), True
                self._leave([job])
                self._finish(job)
            self._work.notify_all()

    def close(self, patience: float = 10.0) -> None:
        """`stop`, and wait for the batches that are being translated, so many seconds at most."""
        self.stop()
        for thread in self._threads:
            thread.join(patience)

    def _translated(
        self,
        task: Task,
        kind: tuple[Hashable, Settings],
        sentences: Sentences,
        texts: Sequence[str],
        forced: Sequence[list[int]],
    ) -> list[Aligned]:
        began = time.monotonic()
        with self._lock:
            number = self._number(kind)
            keys = [(number, text, *ids) for text, ids in zip(texts, forced, strict=True)]
            found = [self._cache.get(key) for key in keys]
            missing = {keys[n]: n for n, aligned in enumerate(found) if aligned is None}
            if missing:
                self._check(task, len(missing))
                group = self._groups.get(number) or _Group(number, sentences, kind[1])
                self._add(task, group, [(key, texts[n], forced[n]) for key, n in missing.items()])
        self._watcher.looked_up(sum(aligned is not None for aligned in found), len(texts))
        made: dict[Hashable, Aligned | None] = {}
        if missing:
            task.done.wait()
            if task.cancelled:
                raise _cancelled()
            for job in task.wanted:
                if job.error is not None:
                    raise job.error
            made = {job.key: job.result for job in task.wanted}
        self._watcher.waited(time.monotonic() - began)
        return [made[key] if aligned is None else aligned for key, aligned in zip(keys, found, strict=True)]  # type: ignore[misc]  # none is None

    def _number(self, kind: Hashable) -> int:
        """Of a group, as settings take long to compare."""
        number = self._numbers.pop(kind, None)
        if number is None:
            number = self._next
            self._next += 1
        self._numbers[kind] = number
        if len(self._numbers) > _KNOWN_GROUPS:
            self._numbers.popitem(last=False)
        return number

    def _check(self, task: Task, count: int) -> None:
        """Raise unless so many sentences more may wait. Where nothing waits, any request may."""
        if self._closed or task.cancelled:
            raise _cancelled()
        wait = self.wait()
        late = wait > self._limits.deadline
        if late or (self.queued and self.queued + count > self._limits.sentences):
            retry = max(1, math.ceil(wait - self._limits.deadline if late else wait / 2))
            raise ServeError(503, "The server is busy: too much waits to be translated", retry_after=retry)

    def _add(self, task: Task, group: _Group, wanted: list[tuple[Hashable, str, list[int]]]) -> None:
        task.done.clear()
        task.wanted, task.group, task.jobs, task.left = [], group, deque(), 0
        task.missing = len(wanted)
        for key, text, forced in wanted:
            job = self._flying.get(key)
            if job is None:
                job = self._flying[key] = _Job(key, text, forced)
                self.queued += 1
                self._queued_pieces += job.size
            job.tasks.add(task)
            task.wanted.append(job)
            task.left += job.size
            if not job.taken:
                task.jobs.append(job)
        if task.jobs:
            group.tasks[task] = None
            self._groups[group.number] = group
            self._work.notify()

    def _cancel(self, task: Task) -> None:
        with self._lock:
            task.cancelled = True
            for job in task.wanted:
                job.tasks.discard(task)
                if not job.tasks and not job.taken:
                    job.taken = True
                    self._leave([job])
                    self._flying.pop(job.key, None)
            task.jobs.clear()
            if task.group is not None:
                task.group.tasks.pop(task, None)
                if not task.group.tasks:
                    self._groups.pop(task.group.number, None)
            task.done.set()

    def _leave(self, jobs: Sequence[_Job]) -> None:
        self.queued -= len(jobs)
        self._queued_pieces -= sum(job.size for job in jobs)

    def _take(self) -> tuple[_Group, list[_Job]] | None:
        """The next batch; None: there will be none."""
        with self._lock:
            while True:
                while not self._groups and not self._closed:
                    self._work.wait()
                if self._closed:
                    return None
                group = self._groups.pop(next(iter(self._groups)))
                jobs = group.batch(self._limits.batch)
                if group.tasks:
                    self._groups[group.number] = group
                    self._work.notify()
                if jobs:
                    self._leave(jobs)
                    return group, jobs

    def _run(self) -> None:
        while (taken := self._take()) is not None:
            group, jobs = taken
            began = time.monotonic()
            _translate(group, jobs)
            seconds, pieces = time.monotonic() - began, sum(job.size for job in jobs)
            with self._lock:
                kept = 0.5 ** (seconds / _HALF_LIFE)
                self._pieces, self._seconds = self._pieces * kept + pieces, self._seconds * kept + seconds
                for job in jobs:
                    self._finish(job)
            self._watcher.batch(pieces, len(jobs), seconds)
            del group, jobs, taken  # a model that is unloaded meanwhile is not held by who waits

    def _finish(self, job: _Job) -> None:
        self._flying.pop(job.key, None)
        if job.result is not None:
            self._cache.put(job.key, job.result)
        for task in job.tasks:
            task.left -= job.size
            task.missing -= 1
            if not task.missing:
                task.done.set()


def _translate(group: _Group, jobs: Sequence[_Job]) -> None:
    """Give each job its result. If a batch raises, each is translated alone: what is wrong with one harms no other."""
    try:
        for job, aligned in zip(jobs, group.translate(jobs), strict=True):
            job.result = aligned
    except Exception as error:
        if len(jobs) == 1:
            jobs[0].error = error
            return
        for job in jobs:
            _translate(group, [job])


def _cancelled() -> CancelledError:
    return CancelledError("nobody waits for the translation any more")
