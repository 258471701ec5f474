"""Caches translations of repeated sentences, which depend only on the sentence and the options.

Needs no lock, because each step is one operation of a dict: two threads may translate the same sentence, with the same
result; a fork finds nothing locked.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar

V = TypeVar("V")
LONGEST = 2000  # characters of the longest cached sentence


class SentenceCache(Generic[V]):
    """A cache of at most `most` values; it drops the least recently used one."""

    def __init__(self, size: int):
        self._size = size
        self._values: dict[Hashable, V] = {}

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Hashable) -> V | None:
        """Returns the value of a key; None if it is not cached."""
        found = self._values.pop(key, None)
        if found is not None:
            self._values[key] = found  # now the most recently used
        return found

    def put(self, key: Hashable, value: V) -> None:
        """Stores a value."""
        self._values[key] = value
        while len(self._values) > self._size:
            try:
                self._values.pop(next(iter(self._values)), None)
            except (RuntimeError, StopIteration):  # another thread changed the dict meanwhile
                continue

    def all_of(
        self, texts: Sequence[str], keys: Sequence[Hashable], make: Callable[[Sequence[int]], Sequence[V]]
    ) -> list[V]:
        """Returns the value of each text: from the cache, or from `make`, which makes each missing value once.

        Parameters
        ----------
        keys : cache keys, which identify more than the text
        make : takes indices of texts, returns their values
        """
        found = [self.get(key) for key in keys]
        missing: dict[Hashable, int] = {}
        for number, value in enumerate(found):
            if value is None:
                missing.setdefault(keys[number], number)
        made = dict(zip(missing, make(list(missing.values())) if missing else [], strict=True))
        for key, value in made.items():
            if len(texts[missing[key]]) <= LONGEST:
                self.put(key, value)
        return [made[key] if value is None else value for key, value in zip(keys, found, strict=True)]
