"""Calls that end before they are done: their time is over, or nobody wants the result any more.

    with under(watch):
        ...                    whoever works calls `check()` from time to time, which raises

What a thread works under, its context says (`contextvars`), so that none of the layers between a call and the engine
has to hand it down; workers get the context of whoever gives them work. A call within another one ends with that, too.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Collection, Iterator
from contextvars import ContextVar
from typing import TypeVar

from cpunmt.errors import CancelledError, CpunmtError, TimeLimitError


class Watch:
    """What a call may take, and whether it is wanted."""

    def __init__(self, time_limit: float | None = None, cancel: Callable[[], object] | None = None):
        """`time_limit`: seconds from now; `cancel`: whether the call is to end. None: nothing ends it."""
        self._limit, self._cancel, self._left = time_limit, cancel, False
        self._end = math.inf if time_limit is None else time.monotonic() + time_limit

    def leave(self) -> None:
        """Whoever asked for the result waits for it no longer."""
        self._left = True

    def error(self) -> CpunmtError | None:
        """What is to be raised now, if the call is to end."""
        if self._left or (self._cancel is not None and self._asked(self._cancel)):
            return CancelledError("the call was cancelled before it was done")
        if time.monotonic() >= self._end:
            return TimeLimitError(
                f"the time limit of {self._limit:g} s is over, and the call is not done; expected a longer time_limit, "
                "or less to do. A limit that cuts translations at the same piece on any machine is max_length"
            )
        return None

    def _asked(self, cancel: Callable[[], object]) -> object:
        """Calls `cancel`, without this watch: a translation that `cancel` makes would ask it again, without an end."""
        watches = _WATCHES.get()
        before = _WATCHES.set(watches[: watches.index(self)] if self in watches else watches)
        try:
            return cancel()
        finally:
            _WATCHES.reset(before)


class SharedWork:
    """Items that a worker makes together, each for somebody else, who may not want it any more."""

    def __init__(self, count: int, watch: Watch | None = None):
        """`watch`: what the others are under, too."""
        self._count, self._watch = count, watch
        self._dropped: set[int] = set()
        self.error: CpunmtError | None = None  # why all that is missing is so
        self.missing: set[int] = set()  # items that are not made, or not as a whole

    def drop(self, item: int) -> None:
        """Nobody wants this one."""
        self._dropped.add(item)

    @property
    def is_unwanted(self) -> bool:
        """Whether nobody wants any item."""
        return len(self._dropped) == self._count

    def unwanted(self) -> Collection[int]:
        """The items that need not be made; with `missing` comes which of them were not."""
        if self.error is None and self._watch is not None:
            self.error = self._watch.error()
        return self._dropped if self.error is None else range(self._count)


T = TypeVar("T")
_WATCHES: ContextVar[tuple[Watch, ...]] = ContextVar("cpunmt watches", default=())  # of calls within calls


def check() -> None:
    """Raise CancelledError or TimeLimitError if the call that this thread works for is to end."""
    for watch in _WATCHES.get():
        if error := watch.error():
            raise error


def is_watched() -> bool:
    """Whether anything may end what this thread works for."""
    return bool(_WATCHES.get())


@contextlib.contextmanager
def under(watch: Watch | None) -> Iterator[None]:
    """What is done within is under `watch` too; None: under what it was."""
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
    """The items, each of which is made under `watch`; what is done with them is not."""
    while True:
        with under(watch):
            try:
                item = next(items)
            except StopIteration:
                return
        yield item
