"""Threads that translate batches in parallel. Compiled code runs without Python's lock, so each has a core.

These are not ThreadPoolExecutors, which can be neither started nor used once the main thread has ended, although other
threads of a program may outlive it, and whose exit waits for all submitted work. With these workers an exit does not
wait for work.
"""

import os
import queue
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar, copy_context

from cpunmt.process.first_use import LOCK
from cpunmt.process.native_calls import is_ending
from cpunmt.process.stopping import Watch, under

_WORKS_FOR: ContextVar[tuple["_Pool", ...]] = ContextVar("cpunmt pools", default=())  # of calls within calls


class _Pool:
    """The threads of one process, and the batches that wait for them: (future, function, arguments)."""

    def __init__(self, count: int, room: threading.Semaphore | None):
        from concurrent.futures import Future  # takes 10 ms, which most processes can save

        self.process, self.room, self.new_future = os.getpid(), room, Future
        self.waiting = queue.SimpleQueue()
        self.open = set()  # futures of batches that wait or run
        self.threads = []
        for number in range(count):
            thread = threading.Thread(target=_work, args=(self.waiting,), name=f"cpunmt worker_{number}", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the system does not allow more: the existing ones do the work
                break
            self.threads.append(thread)

    def close(self):
        for _ in self.threads:
            self.waiting.put(None)


def _work(waiting):
    while (item := waiting.get()) is not None:
        _do(*item)
        del item  # drop the reference to the last results


def _do(future, function, arguments):
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = function(*arguments)
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)


class Workers:
    """`count` threads, started when there is work; with one, the calling thread does the work.

    Threads do not survive a fork: a child starts its own.
    """

    def __init__(self, count: int, queued: int = 0):
        """Takes `queued`, the number of batches that may wait before `submit` blocks; 0 or -1: any number."""
        self.count = count
        self._queued = queued
        self._pool = None

    def map(self, function: Callable, items: Iterable, apart: bool = False) -> Iterator:
        """Returns `function` of each item, in order; `apart`: this thread only waits, and never calls the function.

        With one worker, the thread for `apart` lives for this call only. After an interrupt it may be busy for a
        moment, and another call need not wait for it.
        """
        if self.count > 1:
            return self._results(function, items)
        return Workers(1)._results(function, items) if apart else map(function, items)

    def _results(self, function, items):
        """Yields results. Skips the rest if one raises, this thread is interrupted, or the generator is closed."""
        futures, watch = deque(), Watch()
        try:
            with under(watch):
                for item in items:
                    futures.append(self.submit(function, item))
            while futures:
                yield futures.popleft().result()
        finally:
            watch.leave()
            for future in futures:
                future.cancel()

    def submit(self, function: Callable, *arguments):
        """Returns a concurrent.futures.Future of `function(*arguments)`, which a worker calls, even if there is only
        one.

        The worker uses a copy of this thread's context (`contextvars`). A function in a worker may submit more work,
        which the same worker does at once, because all others may be waiting, too.
        """
        pool = self._pool
        if pool is None or pool.process != os.getpid():
            pool = self._started()
        future = pool.new_future()
        if not pool.threads or is_ending() or pool in _WORKS_FOR.get():  # no other thread would run it
            _do(future, function, arguments)
            return future
        if pool.room:
            pool.room.acquire()
            future.add_done_callback(lambda _: pool.room.release())
        pool.open.add(future)
        future.add_done_callback(pool.open.discard)
        context = copy_context()
        context.run(_WORKS_FOR.set, (*_WORKS_FOR.get(), pool))
        pool.waiting.put((future, context.run, (function, *arguments)))
        return future

    def _started(self) -> _Pool:
        with LOCK:
            if self._pool is None or self._pool.process != os.getpid():
                room = threading.Semaphore(self._queued + self.count) if self._queued > 0 else None
                self._pool = _Pool(self.count, room)
                weakref.finalize(self, self._pool.close).atexit = False
            return self._pool

    @property
    def active(self) -> int:
        """Returns the number of batches that wait or that a worker translates."""
        pool = self._pool
        return len(pool.open) if pool and pool.process == os.getpid() else 0

    @property
    def queued(self) -> int:
        """Returns the number of batches that wait for a worker."""
        pool = self._pool
        return sum(not future.running() for future in list(pool.open)) if self.active else 0
