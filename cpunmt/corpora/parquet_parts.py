"""A folder of Parquet in, a folder of translated parts out: which rows each part has, and what a second run finds done.

Parts are cut by numbers of rows, so each knows its rows and its name before anything is translated, and whoever makes
it writes the same bytes. So it does not matter how often one is made, where, or by how many at once: a part is there,
whole, or it is not.
"""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cpunmt.errors import CpunmtError
from cpunmt.files.output_files import remove_abandoned, sync, told, write_durably, write_file

if TYPE_CHECKING:
    import pyarrow as pa

PLAN, SUCCESS = "_plan.json", "_SUCCESS"  # readers of Parquet folders leave out what begins with an underscore


@dataclass(frozen=True)
class Part:
    """Rows `begin` to `end` of a Parquet file, which become the file `part-NNNNNN.parquet`."""

    number: int
    file: str
    begin: int
    end: int

    @property
    def name(self) -> str:
        """Of the file that it becomes."""
        return f"part-{self.number:06d}.parquet"


def planned(source: str, rows: int) -> list[Part]:
    """The parts of a Parquet file, or of all `*.parquet` in a folder by name: about equal, of at most `rows` rows.

    A file without rows is a part too, so that its columns are not lost. Raises CpunmtError if there is no such file, or
    one that is no Parquet.
    """
    files = sorted(glob.glob(os.path.join(glob.escape(source), "*.parquet"))) if os.path.isdir(source) else [source]
    if not files:
        raise CpunmtError(f"{source}: has no *.parquet, expected a Parquet file or a folder of them")
    parts: list[Part] = []
    for file in files:
        count = rows_of(file)
        pieces = max(1, -(-count // rows))
        edges = [count * piece // pieces for piece in range(pieces + 1)]
        parts += [
            Part(len(parts) + piece, os.path.abspath(file), edges[piece], edges[piece + 1]) for piece in range(pieces)
        ]
    return parts


def rows_of(file: str) -> int:
    """Of a Parquet file, as its footer says. Raises CpunmtError."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return int(pq.read_metadata(file).num_rows)
    except (OSError, pa.ArrowException) as error:
        raise CpunmtError(f"{file}: cannot be read as Parquet: {str(error).rstrip('.')}") from None


def read_part(part: Part) -> pa.Table:
    """Its rows, all columns. Of the file it reads the row groups that hold them.

    Raises CpunmtError if the file cannot be read, or has other rows than when the parts were planned.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(part.file) as file:
            groups: list[int] = []
            first = begun = 0
            for number in range(file.metadata.num_row_groups):
                end = begun + file.metadata.row_group(number).num_rows
                if begun < part.end and part.begin < end:
                    first = first if groups else begun
                    groups.append(number)
                begun = end
            table = file.read_row_groups(groups, use_threads=False)
    except (OSError, pa.ArrowException) as error:
        raise CpunmtError(f"{part.file}: cannot be read as Parquet: {str(error).rstrip('.')}") from None
    table = table.slice(part.begin - first, part.end - part.begin)
    if table.num_rows != part.end - part.begin:
        raise CpunmtError(f"{part.file}: has {begun} rows, expected those up to {part.end}: it was changed meanwhile")
    return table


def write_part(part: Part, table: pa.Table, folder: str) -> None:
    """The part's file, whole and on the disk before it has its name. Raises CpunmtError."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    made = pa.BufferOutputStream()
    pq.write_table(table, made, compression="zstd")
    write_durably(os.path.join(folder, part.name), made.getvalue())


def waiting(parts: Sequence[Part], folder: str) -> list[Part]:
    """The parts whose files are not there yet."""
    there = {*os.listdir(folder)}
    return [part for part in parts if part.name not in there]


def begin(parts: Sequence[Part], folder: str, job: dict[str, Any]) -> None:
    """Write the plan into the folder, which is made; or, where there is one, see that it is the same.

    `job` is what shapes the rows, as JSON holds it. Raises CpunmtError if another plan is there, or files without one.
    """
    plan = {**job, "parts": [[part.file, part.begin, part.end] for part in parts]}
    path = os.path.join(folder, PLAN)
    with told(folder):
        os.makedirs(folder, exist_ok=True)
        names = sorted(name for name in os.listdir(folder) if not name.startswith("."))
    if PLAN not in names:
        if names:
            raise CpunmtError(f"{folder}: holds other files ({', '.join(names[:5])}); choose another folder")
        write_file(path, json.dumps(plan, indent=1, sort_keys=True).encode())
        return
    try:
        with open(path, encoding="utf8") as file:
            there = json.load(file)
        differing = [key for key in sorted({*there, *plan}) if there.get(key) != plan.get(key)]
    except (OSError, ValueError, AttributeError, TypeError, RecursionError) as error:
        raise CpunmtError(f"{path}: cannot be read: {error}; remove the folder to begin again") from None
    if differing:
        raise CpunmtError(
            f"{folder}: was begun with other {', '.join(differing)}, see {PLAN}; "
            "give what was given then, or choose another folder"
        )


def finish(parts: Sequence[Part], folder: str) -> int:
    """Count the rows of all parts, by their footers, and mark the folder as complete. The number of rows.

    Raises CpunmtError if a part is missing or has not the rows that it should have: then nothing is marked.
    """
    for part in parts:
        found = rows_of(os.path.join(folder, part.name))
        if found != part.end - part.begin:
            raise CpunmtError(f"{folder}: {part.name} has {found} rows, expected {part.end - part.begin}; remove it")
    remove_abandoned(folder, ["part-"])  # of processes that were killed while they wrote
    with told(folder):
        sync(folder)
    write_file(os.path.join(folder, SUCCESS), b"")
    return sum(part.end - part.begin for part in parts)
