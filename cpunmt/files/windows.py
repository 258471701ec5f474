"""Cuts a stream into lists, so that much is processed at once and little is stored."""

import itertools
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def windows(items: Iterable[T], first: int, most: int) -> Iterator[list[T]]:
    """Yields items in lists of `first`, then twice as many each time, up to `most`; the last may be shorter.

    If the source raises an Exception, yields its earlier items first, and then raises.
    """
    source, size, full = iter(items), first, True
    raised: Exception | None = None
    while raised is None and full:
        window: list[T] = []
        try:
            for item in itertools.islice(source, size):
                window.append(item)  # a list made by list() would be lost when the source raises
        except Exception as error:
            raised = error
        full = len(window) == size
        if window:
            yield window
        size = min(2 * size, most)
    if raised is not None:
        raise raised
