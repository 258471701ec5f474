"""Threads that translate batches side by side. Compiled code runs without Python's lock, so each has a core."""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple


class _Pool(NamedTuple):
    process: int  # the one whose threads these are
    executor: object
    room: threading.Semaphore | None  # batches that may wait or run; None: any number
    open: set  # futures of batches that wait or run


class Workers:
    """`count` threads, started when there is work for them; with one, work is done by the thread that asks for it.

    Threads do not survive a fork: a child starts its own.
    """

    def __init__(self, count: int, queued: int = 0):
        """`queued`: batches that may wait before `submit` does; 0 or -1: any number."""
        self.count = count
        self._queued = queued
        self._pool = None

    def map(self, function: Callable, items: Iterable) -> Iterator:
        """`function` of each item, in order."""
        if self.count == 1:
            return map(function, items)
        return _results(deque([self.submit(function, item) for item in items]))

    def submit(self, function: Callable, *arguments):
        """A concurrent.futures.Future of `function(*arguments)`, which a worker calls, even if there is only one."""
        pool = self._pool
        if pool is None or pool.process != os.getpid():
            pool = self._pool = self._started()  # a second one, if two threads come here at once, is of no harm
        if pool.room:
            pool.room.acquire()
        future = pool.executor.submit(function, *arguments)
        pool.open.add(future)
        future.add_done_callback(pool.open.discard)
        if pool.room:
            future.add_done_callback(lambda _: pool.room.release())
        return future

    def _started(self):
        from concurrent.futures import ThreadPoolExecutor  # most processes need none

        room = threading.Semaphore(self._queued + self.count) if self._queued > 0 else None
        return _Pool(os.getpid(), ThreadPoolExecutor(self.count, "cpunmt worker"), room, set())

    @property
    def active(self) -> int:
        """Batches that wait or are being translated by a worker."""
        pool = self._pool
        return len(pool.open) if pool and pool.process == os.getpid() else 0

    @property
    def queued(self) -> int:
        """Batches that wait for a worker."""
        pool = self._pool
        return sum(not future.running() for future in list(pool.open)) if self.active else 0


def _results(futures: deque) -> Iterator:
    """Results in order; if one is an exception, or nobody wants them any more, what has not begun is left undone."""
    try:
        while futures:
            yield futures.popleft().result()
    finally:
        for future in futures:
            future.cancel()
