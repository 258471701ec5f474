"""Translations of sentences that come again: kept, as they depend on the sentence and the options only.

Without a lock: each step is one operation of a dict. Of two threads that meet, one translates the sentence once more,
and both get the same; and a fork finds nothing locked.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar

V = TypeVar("V")
LONGEST = 2000  # characters of a sentence that is kept


class SentenceCache(Generic[V]):
    """So many values at most; the one that was not asked for the longest leaves first."""

    def __init__(self, size: int):
        self._size = size
        self._values: dict[Hashable, V] = {}

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Hashable) -> V | None:
        """Returns the value of a key; None if it is not kept."""
        found = self._values.pop(key, None)
        if found is not None:
            self._values[key] = found  # the last one now
        return found

    def put(self, key: Hashable, value: V) -> None:
        """Keep a value."""
        self._values[key] = value
        while len(self._values) > self._size:
            try:
                self._values.pop(next(iter(self._values)), None)
            except (RuntimeError, StopIteration):  # another thread was here between
                continue

    def all_of(
        self, texts: Sequence[str], keys: Sequence[Hashable], make: Callable[[Sequence[int]], Sequence[V]]
    ) -> list[V]:
        """The value of each text: what is kept, and what `make` makes of the others, each of them once.

        Parameters
        ----------
        keys : what distinguishes the texts, which is more than they are
        make : values of the texts of these numbers
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
