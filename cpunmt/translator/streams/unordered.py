"""Yields the results of a stream as soon as they are finished: `translate_iterable(..., ordered=False)`."""

from __future__ import annotations

import os
import queue
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from cpunmt.decoding.call_settings import shares
from cpunmt.process.stopping import Watch, under
from cpunmt.process.workers import Workers

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")
R = TypeVar("R")
AHEAD = 2  # shares per worker, waiting or in work: the next one is ready when one is done


def unordered(
    windows: Iterator[list[T]], size: Callable[[T], int], make: Callable[[Sequence[T]], list[R]], workers: Workers
) -> Iterator[tuple[int, R]]:
    """Yields (number, result) of each item, numbered from 0.

    Each window is cut into shares of items of similar length. With one worker, the calling thread translates the
    shortest first. Several workers also take shares of the next windows while one of them is busy with a long share.

    Parameters
    ----------
    windows : lists of items. An Exception that they raise is raised after the results of all items before it
    size : returns the approximate number of pieces of an item
    make : returns the results of items, in order; does all its work in the thread that calls it

    Raises RuntimeError if it is continued in a fork while results are pending.
    """
    if workers.count == 1:
        return _here(windows, size, make)
    return _by_workers(windows, size, make, workers)


def _here(
    windows: Iterator[list[T]], size: Callable[[T], int], make: Callable[[Sequence[T]], list[R]]
) -> Iterator[tuple[int, R]]:
    begin = 0
    for window in windows:
        for share in reversed(list(shares(list(map(size, window)), 1))):
            for place, result in zip(share, make([window[place] for place in share]), strict=True):
                yield begin + place, result
        begin += len(window)


def _by_workers(
    windows: Iterator[list[T]], size: Callable[[T], int], make: Callable[[Sequence[T]], list[R]], workers: Workers
) -> Iterator[tuple[int, R]]:
    begin, raised, process = 0, None, os.getpid()
    running: dict[Future[list[R]], list[int]] = {}  # -> indices of its items
    done: queue.SimpleQueue[Future[list[R]]] = queue.SimpleQueue()
    wanted = Watch()

    def results(most: int) -> Iterator[tuple[int, R]]:
        """Yields finished results, then waits until at most `most` shares are running."""
        while running and (len(running) > most or not done.empty()):
            if os.getpid() != process:
                raise RuntimeError(
                    f"these results are made in process {process}, and cannot be waited for in a fork of it; take "
                    "them all before the fork, or translate in the new process"
                )
            future = done.get()
            yield from zip(running.pop(future), future.result(), strict=True)

    try:
        while raised is None:
            yield from results(len(running))
            try:
                window = next(windows, None)
            except Exception as error:
                raised, window = error, None
            if window is None:
                break
            for share in shares(list(map(size, window)), workers.count):
                with under(wanted):
                    future = workers.submit(make, [window[place] for place in share])
                running[future] = [begin + place for place in share]
                future.add_done_callback(done.put)
                yield from results(AHEAD * workers.count - 1)
            begin += len(window)
        yield from results(0)
    finally:
        wanted.leave()  # including those in work
        if os.getpid() == process:  # a fork may never release their locks
            for future in running:
                future.cancel()
    if raised is not None:
        raise raised
