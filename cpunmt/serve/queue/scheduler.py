"""Waiting sentences, and the threads that translate them in batches.

The sentence splitter hands its sentences to `Scheduler`, and waits in a thread or for a callback. It has no timer. An
idle worker takes the waiting sentences of one group, up to a budget. A group has one model and one set of options, and
any languages. So batches are small under low load, and grow with it. If a worker's place is free when a thread begins
to wait, that thread does the work itself: waking another thread and being woken again costs a tenth of a short
sentence's time.

Groups take turns, and so do the requests of a group, in the order of arrival (deficit round robin). Turns grow from a
sixteenth of a batch to a whole one, and then are quarters (`waiting.turn`). Between two turns of a request each other
one has at most one turn, so that no request starves or waits for a whole document.

A batch that takes long (a very long sentence, a wide beam) lets others pass: whenever the engine asks whether to
continue, its thread translates waiting jobs for as long as the batch has taken since. The batch ends when all its
clients have left.

A translation depends only on model, options and sentence. So equal waiting sentences are translated once, and
translations are cached (`ByteCache`) without a visible difference.
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from contextvars import Context
from typing import NamedTuple, Protocol

from cpunmt.alignment.aligned import Aligned
from cpunmt.decoding.call_settings import Settings, without_languages
from cpunmt.errors import CancelledError
from cpunmt.serve.errors import ServeError
from cpunmt.serve.queue.byte_cache import ByteCache
from cpunmt.serve.queue.waiting import Group, Job, RunningBatch, Speed, Task, pieces_before
from cpunmt.translator.text_pipeline import OfDirections, Sentences

_KNOWN_GROUPS = 1000
_Kind = tuple[Hashable, Settings]


class Watcher(Protocol):
    """An observer of events; see `metrics`."""

    def batch(self, pieces: int, sentences: int, seconds: float) -> None: ...
    def looked_up(self, kept: int, asked: int) -> None: ...
    def waited(self, seconds: float) -> None: ...


class Limits(NamedTuple):
    """Limits of batches and of waiting.

    batch      pieces of a batch, about, for each hypothesis of a beam
    sentences  that may wait
    deadline   estimated seconds that a request may have to wait for the work of others
    """

    batch: int
    sentences: int
    deadline: float


class Asked(NamedTuple):
    """Submitted sentences.

    keys   of each
    found  results from the cache; None for a missing one
    waits  whether any is missing
    began  the time of submission, on the monotonic clock
    """

    keys: list[tuple[Hashable, ...]]
    found: list[Aligned | None]
    waits: bool
    began: float


class Scheduler:
    """Threads that translate the sentences of requests. `close` ends them."""

    def __init__(self, workers: int, limits: Limits, cache_bytes: int, watcher: Watcher):
        self._limits, self._watcher, self._count = limits, watcher, workers
        self._lock = threading.Lock()
        self._work = threading.Condition(self._lock)
        self._cache: ByteCache[Aligned] = ByteCache(cache_bytes)
        self._flying: dict[Hashable, Job] = {}
        self._groups: OrderedDict[int, Group] = OrderedDict()  # groups with work, next first
        # the number of a kind, and the kind without languages if it names some; those used last are last
        self._numbers: OrderedDict[_Kind, tuple[int, _Kind | None]] = OrderedDict()
        self._next = 0
        self._speed = Speed()
        self._closed = False
        self._working = 0  # translating threads, at most the number of workers
        self.queued = 0  # waiting sentences
        self._queued_pieces = 0
        self._threads = [
            threading.Thread(target=self._run, name=f"cpunmt serve_{number}", daemon=True) for number in range(workers)
        ]
        for thread in self._threads:
            thread.start()

    def task(self, tell: Callable[[], None] | None = None) -> Task:
        """Returns a new request. `tell`: see `Task`."""
        return Task(self._cancel, tell)

    def through(self, task: Task, key: Hashable, sentences: OfDirections) -> Sentences:
        """Returns a callable that translates as `sentences` does, in batches with other requests, and waits for the
        result.

        `key` identifies `sentences` apart from its settings: any callable of an equal key may translate sentences
        whose settings differ in languages only. It raises CancelledError if the request is cancelled, ServeError if
        there is too much to do.
        """

        def translate(texts: Sequence[str], forced: Sequence[list[int]], settings: Settings) -> list[Aligned]:
            asked = self.ask(task, (key, settings), sentences, texts, forced)
            if asked.waits:
                self._help()
                task.wait()
            return self.answer(task, asked)

        return translate

    def ask(
        self,
        task: Task,
        kind: _Kind,
        sentences: OfDirections,
        texts: Sequence[str],
        forced: Sequence[list[int]],
    ) -> Asked:
        """Submits sentences; see `through`. If the result `waits`, call `answer` after the task's callback."""
        began = time.monotonic()
        with self._lock:
            number, shared = self._number(kind)
            keys = [(number, text, *ids) for text, ids in zip(texts, forced, strict=True)]
            found = [self._cache.get(key) for key in keys]
            missing = {keys[n]: n for n, aligned in enumerate(found) if aligned is None}
            if missing:
                group = self._groups.get(shared) or Group(shared, sentences, kind[1].search.beam_size)
                self._check(task, len(missing), sum(group.size(texts[n]) for n in missing.values()))
                self._add(task, group, kind[1], [(key, texts[n], forced[n]) for key, n in missing.items()])
        self._watcher.looked_up(sum(aligned is not None for aligned in found), len(texts))
        return Asked(keys, found, bool(missing), began)

    def answer(self, task: Task, asked: Asked) -> list[Aligned]:
        """Returns the translations of submitted sentences. Raises CancelledError, and the errors of its sentences."""
        made: dict[Hashable, Aligned | None] = {}
        if asked.waits:
            if task.cancelled:
                raise _cancelled()
            for job in task.wanted:
                if job.error is not None:
                    raise job.error
            made = {job.key: job.result for job in task.wanted}
        self._watcher.waited(time.monotonic() - asked.began)
        return [made[key] if one is None else one for key, one in zip(asked.keys, asked.found, strict=True)]  # type: ignore[misc]  # none is None

    def call(self) -> None:
        """Wakes a worker, for a caller that does not wait."""
        with self._lock:
            self._call_others()

    def wait(self) -> float:
        """Estimates the seconds until all waiting sentences are translated."""
        return self._speed.seconds_of(self._queued_pieces) / self._count

    def stop(self) -> None:
        """Cancels all waiting sentences, and accepts no more."""
        with self._lock:
            self._closed = True
            self._groups.clear()
            for job in [job for job in self._flying.values() if not job.taken]:
                job.error, job.taken = _cancelled(), True
                self._leave([job])
                self._finish(job)
            self._work.notify_all()

    def close(self, patience: float = 10.0) -> None:
        """Stops, and waits at most `patience` seconds for running batches."""
        self.stop()
        with self._lock:
            self._work.wait_for(lambda: not self._working, patience)
        for thread in self._threads:
            thread.join(patience)

    def _number(self, kind: _Kind) -> tuple[int, int]:
        """Returns the numbers of a kind, and of its group, which is that of all languages: settings take long to
        compare.
        """
        known = self._numbers.pop(kind, None)
        if known is None:
            key, settings = kind
            unnamed = without_languages(settings)
            known = self._next, None if unnamed is settings else (key, unnamed)
            self._next += 1
        self._numbers[kind] = known
        if len(self._numbers) > _KNOWN_GROUPS:
            self._numbers.popitem(last=False)
        number, group = known
        return number, number if group is None else self._number(group)[1]  # forgotten after its directions

    def _check(self, task: Task, count: int, pieces: int) -> None:
        """Raises unless `count` more sentences may wait. An empty queue accepts any request."""
        if self._closed or task.cancelled:
            raise _cancelled()
        wait = self.wait()
        if wait > self._limits.deadline:  # of all: a request that takes turns may be done earlier
            others = (other.left for group in self._groups.values() for other in group.tasks)
            wait = self._speed.seconds_of(pieces_before(pieces, others, self._limits.batch)) / self._count
        late = wait > self._limits.deadline
        if late or (self.queued and self.queued + count > self._limits.sentences):
            retry = max(1, math.ceil(wait - self._limits.deadline if late else wait / 2))
            raise ServeError(503, "The server is busy: too much waits to be translated", retry_after=retry)

    def _add(self, task: Task, group: Group, settings: Settings, wanted: list[tuple[Hashable, str, list[int]]]) -> None:
        jobs = []
        for key, text, forced in wanted:
            job = self._flying.get(key)
            if job is None:
                job = self._flying[key] = Job(key, text, forced, settings, group.size(text))
                self.queued += 1
                self._queued_pieces += job.size
            jobs.append(job)
        task.begin(jobs, group)
        if task.jobs:
            group.tasks[task] = None
            self._groups[group.number] = group

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
                if not task.group.tasks and self._groups.get(task.group.number) is task.group:
                    del self._groups[task.group.number]  # another group may have taken its number
            task.end()

    def _leave(self, jobs: Sequence[Job]) -> None:
        self.queued -= len(jobs)
        self._queued_pieces -= sum(job.size for job in jobs)

    def _take(self) -> tuple[Group, list[Job]] | None:
        """Takes the next batch and a worker's place; returns None without a batch or a place. Needs the lock."""
        if self._working >= self._count or (taken := self._next_batch()) is None:
            return None
        self._working += 1
        self._call_others()
        return taken

    def _next_batch(self, long: bool = True) -> tuple[Group, list[Job]] | None:
        """Takes the next batch; unless `long`, without sentences longer than a batch. Needs the lock."""
        for number in list(self._groups):
            group = self._groups.pop(number)
            jobs = group.batch(self._limits.batch, long)
            if group.tasks:
                self._groups[number] = group
            if jobs:
                self._leave(jobs)
                return group, jobs
        return None

    def _call_others(self) -> None:
        """Wakes a waiting worker if there is work and a place."""
        if self._groups and self._working < self._count:
            self._work.notify()

    def _help(self) -> None:
        """Does a worker's work once, if there is a place."""
        with self._lock:
            taken = self._take()
        if taken is not None:
            Context().run(self._batch, *taken)  # without this request's cancellation: the batch has others too

    def _run(self) -> None:
        while True:
            with self._lock:
                while (taken := self._take()) is None and not self._closed:
                    self._work.wait()
            if taken is None:
                return
            self._batch(*taken)
            del taken  # a waiting thread must not hold an unloaded model

    def _batch(self, group: Group, jobs: list[Job]) -> None:
        """Translates a batch and gives its place back."""
        self._translate(group, RunningBatch(jobs, self._forget, self._let_pass), jobs)
        with self._lock:
            self._working -= 1
            if self._closed:
                self._work.notify_all()
            self._call_others()

    def _let_pass(self, seconds: float) -> None:
        """Translates waiting jobs in the place of a batch that takes long, for about `seconds`."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with self._lock:
                taken = self._next_batch(long=False)
            if taken is None:
                return
            group, jobs = taken  # without the other batch's cancellation
            Context().run(self._translate, group, RunningBatch(jobs, self._forget, None), jobs)

    def _translate(self, group: Group, batch: RunningBatch, jobs: list[Job]) -> None:
        batch.translate(group)
        seconds = batch.seconds()
        with self._lock:
            self._speed.add(batch.pieces, seconds)
            for job in jobs:
                self._finish(job)
        self._watcher.batch(batch.pieces, len(jobs), seconds)

    def _forget(self, jobs: Sequence[Job]) -> bool:
        """Returns whether no request waits for these jobs any more; new requests do not join them then."""
        with self._lock:
            if not self._closed and any(job.tasks for job in jobs):
                return False
            for job in jobs:
                self._fly_no_more(job)
            return True

    def _finish(self, job: Job) -> None:
        self._fly_no_more(job)
        if job.result is not None:
            self._cache.put(job.key, job.result)
        for task in job.tasks:
            task.missing -= 1
            if not task.missing:
                task.end()

    def _fly_no_more(self, job: Job) -> None:
        if self._flying.get(job.key) is job:  # else it was forgotten, and submitted again
            del self._flying[job.key]


def _cancelled() -> CancelledError:
    return CancelledError("the client does not wait for the translation any more")
