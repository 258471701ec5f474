"""Cuts a stream into lists, so that much is processed at once and little is stored."""

import itertools
from collections.abc import Iterable, Iterator


def windows(items: Iterable, first: int, most: int) -> Iterator[list]:
    """Yields items in lists of `first`, then twice as many each time, up to `most`; the last may be shorter.

    If the source raises an Exception, yields its earlier items first, and then raises.
    """
    items, size, raised, full = iter(items), first, None, True
    while raised is None and full:
        window = []
        try:
            for item in itertools.islice(items, size):
                window.append(item)  # a list made by list() would be lost when the source raises
        except Exception as error:
            raised = error
        full = len(window) == size
        if window:
            yield window
        size = min(2 * size, most)
    if raised is not None:
        raise raised
