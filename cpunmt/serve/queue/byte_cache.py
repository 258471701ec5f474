"""A cache of translations, limited in bytes."""

from __future__ import annotations

import dataclasses
import sys
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any, Generic, TypeVar

V = TypeVar("V")
_ENTRY = 200  # a dict's bytes for an entry, about


class ByteCache(Generic[V]):
    """A least-recently-used cache. Callers hold a lock."""

    def __init__(self, most: int):
        """`most`: the limit in bytes; 0: nothing is cached."""
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
        """Stores a value, unless it alone exceeds the limit."""
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
    """Returns the bytes of a value and its parts: tuples, lists, dataclasses, arrays. Shared parts count each time."""
    size = sys.getsizeof(value)
    if isinstance(value, tuple | list):
        return size + sum(map(size_of, value))
    if dataclasses.is_dataclass(value):
        return size + sum(size_of(getattr(value, one.name)) for one in dataclasses.fields(value))
    return size + (0 if getattr(value, "base", None) is None else value.nbytes)  # getsizeof ignores a view's memory
