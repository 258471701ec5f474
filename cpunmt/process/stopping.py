"""Early ends of calls: their time limit has passed, or they were cancelled.

with under(watch):
    ...                    the work calls `check()` from time to time, which raises

The context of a thread (`contextvars`) holds its watches, so the layers between a call and the engine do not pass them
on; workers receive the context of the submitting thread. A call within another one also ends with it.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextvars import ContextVar
from typing import TypeVar

from cpunmt.errors import CancelledError, CpunmtError, TimeLimitError


class Watch:
    """The limits of a call: its time, and whether its result is still wanted."""

    def __init__(self, time_limit: float | None = None, cancel: Callable[[], object] | None = None):
        """Takes `time_limit`, in seconds from now, and `cancel`, which returns whether the call ends; None: never."""
        self._limit, self._cancel, self._left = time_limit, cancel, False
        self._end = math.inf if time_limit is None else time.monotonic() + time_limit

    def leave(self) -> None:
        """Marks the result as no longer wanted."""
        self._left = True

    def error(self) -> CpunmtError | None:
        """Returns the error to raise now if the call is to end, else None."""
        if self._left or (self._cancel is not None and self._asked(self._cancel)):
            return CancelledError("the call was cancelled before it was done")
        if time.monotonic() >= self._end:
            return TimeLimitError(
                f"the time limit of {self._limit:g} s is over, and the call is not done; expected a longer time_limit, "
                "or less to do. A limit that cuts translations at the same piece on any machine is max_length"
            )
        return None

    def _asked(self, cancel: Callable[[], object]) -> object:
        """Calls `cancel` outside this watch: a translation within `cancel` would otherwise call it without end."""
        watches = _WATCHES.get()
        before = _WATCHES.set(watches[: watches.index(self)] if self in watches else watches)
        try:
            return cancel()
        finally:
            _WATCHES.reset(before)


class SharedWork:
    """Items that a worker makes together for different callers, each of whom may cancel."""

    def __init__(self, count: int, watch: Watch | None = None):
        """Makes work of `count` items; `watch` applies to all of them."""
        self._count, self._watch = count, watch
        self._dropped: set[int] = set()
        self.error: CpunmtError | None = None  # the cause of all missing items
        self.missing: set[int] = set()  # items that are not made, or incomplete

    def drop(self, item: int) -> None:
        self._dropped.add(item)

    @property
    def is_unwanted(self) -> bool:
        """Returns whether all items were cancelled."""
        return len(self._dropped) == self._count

    def unwanted(self) -> Collection[int]:
        """Returns the items that need not be made: the cancelled ones, or all once `watch` ends the work."""
        if self.error is None and self._watch is not None:
            self.error = self._watch.error()
        return self._dropped if self.error is None else range(self._count)


T = TypeVar("T")
_OFTEN = 256
_WATCHES: ContextVar[tuple[Watch, ...]] = ContextVar("cpunmt watches", default=())  # of calls within calls


def check() -> None:
    """Raises CancelledError or TimeLimitError if the call that this thread works for is to end."""
    for watch in _WATCHES.get():
        if error := watch.error():
            raise error


def checked(items: Iterable[T]) -> Iterator[T]:
    """Yields the items, and calls `check` before every 256th of them."""
    for number, item in enumerate(items):
        if not number % _OFTEN:
            check()
        yield item


def is_watched() -> bool:
    """Returns whether any watch may end the work of this thread."""
    return bool(_WATCHES.get())


@contextlib.contextmanager
def under(watch: Watch | None) -> Iterator[None]:
    """Applies `watch` to the work within, in addition to earlier watches; None adds nothing."""
    if watch is None:
        yield
        return
    before = _WATCHES.set((*_WATCHES.get(), watch))
    try:
        check()
        yield
    finally:
        _WATCHES.reset(before)


def watched(items: Iterator[T], watch: Watch | None) -> Iterator[T]:
    """Yields the items, each made under `watch`; the caller's code between them is not watched."""
    while True:
        with under(watch):
            try:
                item = next(items)
            except StopIteration:
                return
        yield item
