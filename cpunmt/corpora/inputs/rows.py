"""The rows of a shard: their texts and their new columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple


class Shard(NamedTuple):
    """Some rows of an input, unparsed.

    payload  their bytes; of Parquet those of an Arrow stream
    first    the number of the first one's line, from 1
    rows     the number of lines or rows
    """

    payload: bytes
    first: int
    rows: int


@dataclass
class Rows:
    """The parsed rows of a shard.

    texts      of each row; None if it lacks one
    targets    the other side of each, if pairs are scored
    held       the format's data for writing them again
    languages  of each row, the values of `Job.languages`; empty if it has no columns
    place      returns the position of a row, for messages
    """

    texts: Sequence[str | None]
    targets: Sequence[str | None] | None
    held: Any = None
    languages: Sequence[tuple[str | None, ...]] = ()
    place: Callable[[int], str] = str


@dataclass
class Made:
    """The new columns of rows.

    columns   name -> a value for each row: a text, a number, or None
    flags     the names of each row's faults; None without filters
    distinct  the number of different rows
    """

    columns: dict[str, Sequence[str | float | None]]
    flags: Sequence[Sequence[str]] | None
    distinct: int

    def flagged(self, row: int) -> bool:
        return self.flags is not None and bool(self.flags[row])
