"""Requests whose bodies are arriving: counts their memory, and ends slow ones.

An arriving request has no thread and is not in progress: slow clients do not block others, and the server does not wait
for them when it ends.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator

from cpunmt.serve.errors import ServeError

MOST_BYTES = 128 << 20  # of all arriving bodies


class Arriving:
    """Arriving requests, the oldest first. Only the event loop's thread uses it."""

    def __init__(self) -> None:
        self._held: dict[asyncio.Task[object], int] = {}
        self._ended: dict[asyncio.Task[object], ServeError] = {}
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._held)

    @contextlib.contextmanager
    def one(self) -> Iterator[Callable[[int], None]]:
        """Surrounds the arrival of a request; yields a function that counts bytes. Raises ServeError if ended."""
        task = asyncio.current_task()
        assert task is not None
        self._held[task] = 0
        try:
            yield lambda count: self._more(task, count)
        except asyncio.CancelledError:
            if task not in self._ended:
                raise
            if hasattr(task, "uncancel"):  # since Python 3.11
                task.uncancel()
            raise self._ended[task] from None
        finally:
            self._bytes -= self._held.pop(task, 0)
            self._ended.pop(task, None)

    def end_all(self, error: ServeError) -> None:
        """Makes each of them raise `error`."""
        for task in list(self._held):
            self._end(task, error)

    def _more(self, task: asyncio.Task[object], count: int) -> None:
        """Counts bytes of a request; if all bodies together have too many, ends the oldest other request."""
        if task in self._held:  # else it is ended
            self._held[task] += count
            self._bytes += count
        while self._bytes > MOST_BYTES and len(self._held) > 1:
            oldest = next((one for one in self._held if one is not task), task)
            self._end(oldest, ServeError(408, "The request took too long to arrive", detail="Send it faster, or less"))

    def _end(self, task: asyncio.Task[object], error: ServeError) -> None:
        self._bytes -= self._held.pop(task)
        self._ended[task] = error
        task.cancel()
