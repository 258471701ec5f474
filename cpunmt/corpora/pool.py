"""Processes that make parts, each on a core: one that dies is replaced, and its part made by another."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
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

ATTEMPTS = 3  # a part that so many workers died of is given up
_PATIENCE = 2.0  # seconds for workers to end by themselves
_BLOCK = 1 << 16
_START = "import sys; from cpunmt.process.run import run; sys.exit(run('cpunmt', 'cpunmt.corpora.worker'))"


@dataclass
class Task:
    """A part to make, its rows, how many they are, and how many workers have died of it."""

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
    """Processes for some work; to be closed."""

    def __init__(self, work: Work, count: int):
        """Start the first one, and the others when it is ready: what is compiled on first use is then there.

        Raises CpunmtError if models cannot be loaded, or options are wrong.
        """
        self._work, self._count = work, count
        self._workers: list[_Worker] = []
        self._is_ending = False
        interrupts.end_by(self._end_now)
        self.options = self._first()
        while len(self._workers) < count:
            self._start()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        interrupts.end_by(lambda: False)
        self._stop()

    def run(self, tasks: Iterator[Task]) -> Iterator[tuple[Task, str, Any]]:
        """Make the parts. Of each come (task, "progress", [share that is done, words in all]), (task, "done", sidecar).

        As many tasks as there are workers are held, and one more. A part that cannot be made ends it: those that have
        been begun come first, then CpunmtError. So does one that ATTEMPTS workers died of, after all others.
        """
        again: deque[Task] = deque()
        failed: list[str] = []
        given_up: list[str] = []
        following = _next(tasks, failed)
        while True:
            self._wait_for_the_end()
            for worker in self._workers:
                if worker.task is None and not failed and (again or following):
                    if again:
                        worker.task = again.popleft()
                    else:
                        worker.task, following = following, None
                    self._send(worker)
                    if following is None:
                        following = _next(tasks, failed)
            if not any(worker.task for worker in self._workers):
                self._wait_for_the_end()
                break
            for worker in self._waited():
                for kind, value in _taken(worker):
                    task = worker.task
                    if kind == "ready" or task is None:
                        continue
                    if kind == "failed":
                        failed.append(value)
                    else:
                        yield task, kind, value
                    if kind != "progress":
                        worker.task = None
                if worker not in self._workers and worker.task is not None:
                    self._died(worker, worker.task, again, given_up)
        if failed:
            raise CpunmtError(failed[0])
        if given_up:
            raise CpunmtError("; ".join(given_up))

    def _died(self, worker: _Worker, task: Task, again: deque[Task], given_up: list[str]) -> None:
        task.died += 1
        place = f"{task.part.where}, rows from {task.part.first} on"
        how = _ended(worker.process.returncode)
        if task.died < ATTEMPTS:
            say(f"cpunmt: a worker ended {how} at {place}; another one makes them")
            again.append(task)
        else:
            given_up.append(
                f"{place}: {ATTEMPTS} workers ended at them, the last one {how}; is there too little memory? Then use "
                "fewer --workers, or a smaller --shard-rows. All else is done"
            )

    def _start(self) -> _Worker:
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
                start_new_session=True,  # Ctrl-C is this process's, which ends them
            )
        except OSError as error:
            raise CpunmtError(f"a worker cannot be started: {error.strerror}; see ulimit -u") from None
        worker = _Worker(process)
        self._workers.append(worker)
        self._written(worker, frame(asdict(self._work)))
        return worker

    def _first(self) -> dict[str, Any]:
        """The named options, from the first worker."""
        for _ in range(ATTEMPTS):
            self._wait_for_the_end()
            worker = self._start()
            while worker in self._workers:
                for waited in self._waited(replace=False):
                    self._wait_for_the_end()
                    for kind, value in _taken(waited):
                        if kind == "failed":
                            self._stop()
                            raise CpunmtError(value)
                        if kind == "ready":
                            return dict(value)
        self._wait_for_the_end()
        how = _ended(worker.process.returncode)
        raise CpunmtError(f"{ATTEMPTS} workers ended at their start, the last one {how}; is there too little memory?")

    def _send(self, worker: _Worker) -> None:
        assert worker.task is not None
        self._written(worker, frame(asdict(worker.task.part), worker.task.payload))
        self._written(worker, worker.task.payload)

    def _written(self, worker: _Worker, content: bytes) -> None:
        assert worker.process.stdin is not None
        with contextlib.suppress(OSError):  # it has died: what it says next is nothing
            write_all(worker.process.stdin.fileno(), content)

    def _waited(self, replace: bool = True) -> list[_Worker]:
        """Those that have said something, or died: these are replaced."""
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
                self._wait_for_the_end()
                self._workers.remove(worker)
                _closed(worker)
                if replace:
                    self._start()
        return found

    def _wait_for_the_end(self) -> None:
        """If this process ends, its workers have been ended by it: nothing is to be done any more."""
        while self._is_ending:
            time.sleep(1)

    def _end_now(self) -> bool:
        """End the workers, which take away what is unfinished. A signal came: this process ends then."""
        self._is_ending = True
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


def _next(tasks: Iterator[Task], failed: list[str]) -> Task | None:
    """The next one; None after the last, or if the input cannot be read further: what is said of that is kept."""
    try:
        return None if failed else next(tasks, None)
    except CpunmtError as error:
        failed.append(str(error))
        return None


def _taken(worker: _Worker) -> Iterator[tuple[str, Any]]:
    while worker.replies:
        yield worker.replies.popleft()


def _closed(worker: _Worker) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):  # it has closed its pipe, and is at its end
        worker.process.wait(_PATIENCE)
    worker.process.kill()
    worker.process.wait()
    for pipe in (worker.process.stdin, worker.process.stdout):
        with contextlib.suppress(OSError):
            if pipe is not None:
                pipe.close()


def _ended(status: int) -> str:
    return f"by signal {-status}" if status < 0 else f"with status {status}"
