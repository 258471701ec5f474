"""Processes that make parts, each on a core: a process that dies is replaced, and another makes its part."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from cpunmt.corpora.shard import Part
from cpunmt.corpora.worker import Work, frame
from cpunmt.errors import CpunmtError
from cpunmt.files.console import say
from cpunmt.files.line_stream import write_all
from cpunmt.process import interrupts

ATTEMPTS = 3  # a part is given up after the deaths of this many workers
_PATIENCE = 2.0  # seconds for workers to end by themselves, and for a signal that ended one to end this process too
# Statuses of a worker that was asked to end. A signal to a group of processes may reach workers first, or this one.
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_ASKED_TO_END = {status for number in _SIGNALS for status in (-number, 128 + number)}
_BLOCK = 1 << 16
_SHOWN = 3  # given-up parts named in a message
# python -c looks for modules in the current folder first: a random.py there must not be run.
_START = (
    "import sys; sys.path[:] = filter(None, sys.path); from cpunmt.process.run import run; "
    "sys.exit(run('cpunmt', 'cpunmt.corpora.worker'))"
)


@dataclass
class Task:
    """A part to make, its rows, their number, and the number of workers that have died of it."""

    part: Part
    payload: bytes
    rows: int
    died: int = 0


@dataclass(eq=False)
class _Worker:
    process: subprocess.Popen[bytes]
    task: Task | None = None
    said: bytes = b""  # the beginning of a line
    replies: deque[tuple[str, Any]] = field(default_factory=deque)
    is_ready: bool = False


class Pool:
    """Worker processes for some work; to be closed."""

    def __init__(self, work: Work, count: int):
        """Starts the first one; the others when it is ready, so that compiled programs are there.

        Raises CpunmtError if models cannot be loaded, or options are wrong.
        """
        self._work, self._count = work, count
        self._workers: list[_Worker] = []
        self._ending = threading.Event()
        self._unready = 0  # successive workers that ended before they were ready
        self._said_of_starts = ""
        interrupts.end_by(self._end_now)
        self.identity = self._first()
        """The identity of parts, apart from their rows; see `sidecar.identity`."""

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        interrupts.end_by(lambda: False)
        self._stop()

    def run(self, tasks: Iterator[Task]) -> Iterator[tuple[Task, str, Any]]:
        """Makes the parts. Yields for each (task, "progress", [finished share, words in all]) and (task, "done",
        sidecar).

        Starts a worker if there is a task and no idle worker. Holds one more task than there are workers. A part that
        cannot be made ends the run with a CpunmtError, after the parts in progress. So does a part that ATTEMPTS
        workers died of, after all others.
        """
        again: deque[Task] = deque()
        failed: list[str] = []
        given_up: list[str] = []
        following = next_task(tasks, failed)
        while True:
            self._wait_for_the_end()
            while not failed and (again or following) and (free := self._free(failed)) is not None:
                if again:
                    free.task = again.popleft()
                else:
                    free.task, following = following, None
                if free.is_ready:  # the others get it when they are ready: writing would wait for their start
                    self._send(free)
                if following is None:
                    following = next_task(tasks, failed)
            if not any(worker.task for worker in self._workers):
                self._wait_for_the_end()
                break
            for worker in self._waited():
                for kind, value in _taken(worker):
                    task = worker.task
                    if kind == "ready":
                        worker.is_ready, self._unready = True, 0
                        if task is not None:
                            self._send(worker)
                        continue
                    if task is None:
                        continue
                    if kind == "failed":
                        failed.append(value)
                    else:
                        yield task, kind, value
                    if kind != "progress":
                        worker.task = None
                if worker not in self._workers:
                    self._wait_for_the_end(worker.process.returncode)
                    self._died(worker, again, given_up)
        if failed:
            raise CpunmtError(failed[0])
        if given_up:
            raise CpunmtError(_told(given_up))

    def _free(self, failed: list[str]) -> _Worker | None:
        """Returns a worker without a task: a new one if there is none, as long as that may help."""
        for worker in self._workers:
            if worker.task is None:
                return worker
        if len(self._workers) >= self._count:
            return None
        if self._unready >= ATTEMPTS:
            if not self._workers:
                failed.append(self._said_of_starts)
            return None
        try:
            return self._start()
        except CpunmtError as error:
            failed.append(str(error))
            return None

    def _died(self, worker: _Worker, again: deque[Task], given_up: list[str]) -> None:
        task, how = worker.task, _ended(worker.process.returncode)
        if not worker.is_ready:  # it has read nothing of its task
            self._unready += 1
            self._said_of_starts = _at_start(how)
            if task is not None:
                again.appendleft(task)
                ready = sum(one.is_ready for one in self._workers)
                if self._unready == ATTEMPTS and ready:
                    say(f"cpunmt: {self._said_of_starts} It goes on with {ready} of {self._count}")
            return
        self._unready = 0  # it has freed its memory
        if task is None:
            return
        task.died += 1
        place = task.part.place
        if task.died < ATTEMPTS:
            say(f"cpunmt: a worker ended {how} at {place}; another one makes them")
            again.append(task)
        else:
            given_up.append(f"{place}: {ATTEMPTS} workers ended at them, the last one {how}")

    def _start(self) -> _Worker:
        self._wait_for_the_end()
        here = str(Path(__file__).parents[2])
        folders = [here, *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders), "OPENBLAS_NUM_THREADS": "1"}
        try:
            process = subprocess.Popen(
                [sys.executable, "-c", _START],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                bufsize=0,
                env=environment,
                start_new_session=True,  # this process handles Ctrl-C, and ends them
            )
        except OSError as error:
            limit = "n" if error.errno == errno.EMFILE else "u"
            raise CpunmtError(
                f"a worker cannot be started: {error.strerror}; use fewer --workers, or see ulimit -{limit}"
            ) from None
        worker = _Worker(process)
        self._workers.append(worker)
        self._written(worker, frame(asdict(self._work)))
        return worker

    def _first(self) -> dict[str, Any]:
        """Starts the first worker, and returns its identity of parts (`sidecar.identity`)."""
        for _ in range(ATTEMPTS):
            worker = self._start()
            while worker in self._workers:
                for waited in self._waited():
                    self._wait_for_the_end()
                    for kind, value in _taken(waited):
                        if kind == "failed":
                            self._stop()
                            raise CpunmtError(value)
                        if kind == "ready":
                            waited.is_ready = True
                            return dict(value)
        self._wait_for_the_end(worker.process.returncode)
        raise CpunmtError(_at_start(_ended(worker.process.returncode)))

    def _send(self, worker: _Worker) -> None:
        assert worker.task is not None
        self._written(worker, frame(asdict(worker.task.part), worker.task.payload))
        self._written(worker, worker.task.payload)

    def _written(self, worker: _Worker, content: bytes) -> None:
        assert worker.process.stdin is not None
        with contextlib.suppress(OSError):  # it has died: its output will end
            write_all(worker.process.stdin.fileno(), content)

    def _waited(self) -> list[_Worker]:
        """Waits for workers with output, reads it, and returns them; drops dead ones from the pool."""
        by_descriptor = {}
        poll = select.poll()
        for worker in self._workers:
            assert worker.process.stdout is not None
            by_descriptor[worker.process.stdout.fileno()] = worker
            poll.register(worker.process.stdout, select.POLLIN)
        found = [by_descriptor[descriptor] for descriptor, _ in poll.poll()]
        for worker in found:
            assert worker.process.stdout is not None
            block = os.read(worker.process.stdout.fileno(), _BLOCK)
            *lines, worker.said = (worker.said + block).split(b"\n")
            worker.replies += [next(iter(json.loads(line).items())) for line in lines]
            if not block:
                self._wait_for_the_end()  # after which no workers are left
                self._workers.remove(worker)
                _closed(worker)
        return found

    def _wait_for_the_end(self, status: int = 0) -> None:
        """Returns unless this process is ending; then the workers have been ended.

        `status`: of a worker that has ended. If a signal asked it to end, this process may be about to get it too.
        """
        if status in _ASKED_TO_END:
            self._ending.wait(_PATIENCE)
        while self._ending.is_set():
            time.sleep(1)

    def _end_now(self) -> bool:
        """Ends the workers after a signal; they remove their unfinished files, and this process ends."""
        self._ending.set()  # before the workers end: other threads that see their end must know why
        self._stop(signal.SIGTERM)
        return False

    def _stop(self, number: int | None = None) -> None:
        workers, self._workers = self._workers, []
        for worker in workers:
            with contextlib.suppress(OSError):
                if number is not None:
                    worker.process.send_signal(number)
                elif worker.process.stdin is not None:
                    worker.process.stdin.close()
        until = time.monotonic() + _PATIENCE
        for worker in workers:
            with contextlib.suppress(subprocess.TimeoutExpired):
                worker.process.wait(max(0.0, until - time.monotonic()))
            if worker.process.poll() is None:
                worker.process.kill()
            if number is None:
                _closed(worker)


def next_task(tasks: Iterator[Task], failed: list[str]) -> Task | None:
    """Returns the next task; None after the last, or if the input cannot be read: the message is added to `failed`."""
    try:
        return None if failed else next(tasks, None)
    except CpunmtError as error:
        failed.append(str(error))
        return None


def _taken(worker: _Worker) -> Iterator[tuple[str, Any]]:
    while worker.replies:
        yield worker.replies.popleft()


def _closed(worker: _Worker) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):  # it has closed its pipe, and is ending
        worker.process.wait(_PATIENCE)
    worker.process.kill()
    worker.process.wait()
    for pipe in (worker.process.stdin, worker.process.stdout):
        with contextlib.suppress(OSError):
            if pipe is not None:
                pipe.close()


def _told(given_up: list[str]) -> str:
    """Names the first given-up parts, and the number of others."""
    more = len(given_up) - _SHOWN
    named = "; ".join(given_up[:_SHOWN]) + (f"; and so of {more} parts more" if more > 0 else "")
    return f"{named}; is there too little memory? Then use fewer --workers, or a smaller --shard-rows. All else is done"


def _at_start(how: str) -> str:
    return f"{ATTEMPTS} workers ended at their start, the last one {how}; is there too little memory?"


def _ended(status: int) -> str:
    return f"by signal {-status}" if status < 0 else f"with status {status}"
