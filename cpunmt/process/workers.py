"""Threads that translate batches side by side. Compiled code runs without Python's lock, so each has a core.

Not a ThreadPoolExecutor: that one can neither be started nor be used once the main thread has ended, which other
threads of a program may outlive, and an exit waits for all that it was given. Here an exit waits for nobody.
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
    """Threads of one process, and the batches that wait for them: (future, function, arguments)."""

    def __init__(self, count: int, room: threading.Semaphore | None):
        from concurrent.futures import Future  # 10 ms that most processes need not spend

        self.process, self.room, self.new_future = os.getpid(), room, Future
        self.waiting = queue.SimpleQueue()
        self.open = set()  # futures of batches that wait or run
        self.threads = []
        for number in range(count):
            thread = threading.Thread(target=_work, args=(self.waiting,), name=f"cpunmt worker_{number}", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the system allows no more of them: those that are there do the work
                break
            self.threads.append(thread)

    def close(self):
        for _ in self.threads:
            self.waiting.put(None)


def _work(waiting):
    while (item := waiting.get()) is not None:
        _do(*item)
        del item  # the last results are nobody's but the caller's


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
    """`count` threads, started when there is work for them; with one, work is done by the thread that asks for it.

    Threads do not survive a fork: a child starts its own.
    """

    def __init__(self, count: int, queued: int = 0):
        """`queued`: batches that may wait before `submit` does; 0 or -1: any number."""
        self.count = count
        self._queued = queued
        self._pool = None

    def map(self, function: Callable, items: Iterable, apart: bool = False) -> Iterator:
        """`function` of each item, in order; `apart`: never called by this thread, which only waits.

        Of one worker that thread lives for this call only: if the call is interrupted, it may be busy for a moment yet,
        and another call need not wait for that.
        """
        if self.count > 1:
            return self._results(function, items)
        return Workers(1)._results(function, items) if apart else map(function, items)

    def _results(self, function, items):
        """What is not done is left undone if one raises, if this thread is interrupted, or if nobody wants it."""
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
        """A concurrent.futures.Future of `function(*arguments)`, which a worker calls, even if there is only one.

        It does so in a copy of the context of this thread (`contextvars`). A function that a worker calls may submit
        work of its own: that is done at once by the same worker, as all others may be waiting, too.
        """
        pool = self._pool
        if pool is None or pool.process != os.getpid():
            pool = self._started()
        future = pool.new_future()
        if not pool.threads or is_ending() or pool in _WORKS_FOR.get():  # nobody else would do it
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
        """Batches that wait or are being translated by a worker."""
        pool = self._pool
        return len(pool.open) if pool and pool.process == os.getpid() else 0

    @property
    def queued(self) -> int:
        """Batches that wait for a worker."""
        pool = self._pool
        return sum(not future.running() for future in list(pool.open)) if self.active else 0
