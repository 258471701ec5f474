"""The rows of a shard: the texts in them, and what becomes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple


class Shard(NamedTuple):
    """Some rows of an input, as they lie there.

    payload  their bytes; of Parquet those of an Arrow stream
    first    the number of the first one's line, from 1
    rows     how many lines or rows there are
    """

    payload: bytes
    first: int
    rows: int


@dataclass
class Rows:
    """What a shard says.

    texts    of each row; None: it has none
    targets  the other side of each, where pairs are scored
    held     what a format needs to write them again
    """

    texts: Sequence[str | None]
    targets: Sequence[str | None] | None
    held: Any = None


@dataclass
class Made:
    """What becomes of the rows: new columns.

    columns   name -> a value for each row: a text, a number, or None
    flags     of each row, the names of what is wrong with it; None: nobody asked
    distinct  how many of the rows were different
    """

    columns: dict[str, Sequence[str | float | None]]
    flags: Sequence[Sequence[str]] | None
    distinct: int

    def flagged(self, row: int) -> bool:
        return self.flags is not None and bool(self.flags[row])
