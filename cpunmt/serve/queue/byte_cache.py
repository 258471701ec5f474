"""Translations of sentences that come again, in so many bytes."""

from __future__ import annotations

import dataclasses
import sys
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any, Generic, TypeVar

V = TypeVar("V")
_ENTRY = 200  # bytes that a dict has for one, about


class ByteCache(Generic[V]):
    """What was not asked for the longest leaves first. For one thread at a time: whoever uses it holds a lock."""

    def __init__(self, most: int):
        """`most`: bytes; 0: nothing is kept."""
        self._most, self.bytes = most, 0
        self._values: OrderedDict[Hashable, tuple[V, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Hashable) -> V | None:
        found = self._values.get(key)
        if found is None:
            return None
        self._values.move_to_end(key)
        return found[0]

    def put(self, key: Hashable, value: V) -> None:
        """Keeps a value, unless it alone has more bytes than the limit."""
        size = _ENTRY + size_of(key) + size_of(value) if self._most else 1
        if size > self._most:
            return
        if (before := self._values.pop(key, None)) is not None:
            self.bytes -= before[1]
        self._values[key] = value, size
        self.bytes += size
        while self.bytes > self._most:
            self.bytes -= self._values.popitem(last=False)[1][1]


def size_of(value: Any) -> int:
    """Bytes of a value and of all that it has: tuples, lists, dataclasses, arrays. What it shares counts each time."""
    size = sys.getsizeof(value)
    if isinstance(value, tuple | list):
        return size + sum(map(size_of, value))
    if dataclasses.is_dataclass(value):
        return size + sum(size_of(getattr(value, one.name)) for one in dataclasses.fields(value))
    return size + (0 if getattr(value, "base", None) is None else value.nbytes)  # getsizeof knows of no view's memory
