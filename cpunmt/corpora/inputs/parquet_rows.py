"""Rows of Parquet files, through pyarrow: all columns stay, and new ones follow them."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from typing import Any

from cpunmt.corpora.inputs.json_rows import new_names
from cpunmt.corpora.inputs.lines import MOST_SHARD
from cpunmt.corpora.inputs.rows import Made, Rows, Shard
from cpunmt.corpora.job import Job
from cpunmt.errors import CpunmtError
from cpunmt.process.first_use import LOCK

_STEP = 4096  # rows that are read at once


def pyarrow() -> Any:
    """Returns the library. Raises CpunmtError if it is not installed."""
    with LOCK:
        try:
            import pyarrow.parquet
        except ImportError:
            raise CpunmtError(
                "Parquet files need pyarrow, which is not installed; run: pip install 'cpunmt[parquet]'"
            ) from None
    return pyarrow


def parquet_shards(path: str, rows: int) -> Iterator[Shard]:
    """Yields the rows of a file in shards of `rows`, or of fewer rows once a shard has MOST_SHARD bytes.

    Raises CpunmtError for a file that cannot be read.
    """
    pa = pyarrow()
    first = 1
    with _told(pa, path), pa.parquet.ParquetFile(path) as file:
        waiting: list[Any] = []
        count = size = 0
        for batch in file.iter_batches(min(rows, _STEP), use_threads=False):
            waiting.append(batch)
            count, size = count + batch.num_rows, size + batch.nbytes
            while count >= rows or size >= MOST_SHARD:
                table = pa.Table.from_batches(waiting)
                taken = min(rows, count)
                yield Shard(_stream(pa, table.slice(0, taken)), first, taken)
                first += taken
                rest = table.slice(taken)
                waiting, count = rest.to_batches(), rest.num_rows
                size = rest.nbytes if count else 0
        if count or first == 1:
            table = pa.Table.from_batches(waiting, None if waiting else file.schema_arrow)
            yield Shard(_stream(pa, table), first, count)


def count_rows(path: str) -> int:
    pa = pyarrow()
    with _told(pa, path), pa.parquet.ParquetFile(path) as file:
        return int(file.metadata.num_rows)


@contextlib.contextmanager
def _told(pa: Any, path: str) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        said = str(error).split("\n")[0]
        raise CpunmtError(f"{path}: cannot read the Parquet file: {said}") from None


def _stream(pa: Any, table: Any) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return sink.getvalue()


def read_parquet(payload: bytes, job: Job, where: str, first: int) -> Rows:
    """Returns the texts of the rows. Raises as `read_table`."""
    pa = pyarrow()
    with pa.ipc.open_stream(payload) as reader:
        return read_table(reader.read_all(), job, where, first)


def read_table(table: Any, job: Job, where: str, first: int = 1) -> Rows:
    """Returns the texts of a table or a record batch.

    Raises CpunmtError if a column is missing, is repeated or has no texts, or if a new column exists already.
    """
    for name in new_names(job):
        if name in table.schema.names:
            raise CpunmtError(
                f"{where}: has a column {name!r} already, which is to be added; choose another (into=NAME)"
            )
    texts = _texts(table, job.column, where)
    targets = None if job.target is None else _texts(table, job.target, where, "target_column")
    spoken = [_texts(table, column, where, f"{name}_column") for name, column in job.languages.items()]
    return Rows(texts, targets, table, list(zip(*spoken, strict=True)), lambda row: f"{where}: row {first + row}")


def _texts(table: Any, name: str, where: str, option: str = "column") -> list[str | None]:
    names = table.schema.names
    if (count := names.count(name)) > 1:
        raise CpunmtError(f"{where}: has {count} columns {name!r}, expected one")
    if not count:
        there = ", ".join(map(repr, names[:10])) or "none"
        raise CpunmtError(f"{where}: has no column {name!r}; there is {there}; name the column ({option}=NAME)")
    return texts_of(table.column(name), f"{where}: column {name!r}")


def texts_of(values: Any, place: str) -> list[str | None]:
    """Returns the texts of a column, None for nulls. Raises CpunmtError, which names the place, for other types."""
    import pyarrow as pa

    kind = text_type(values)
    if not (_is_text(kind) or pa.types.is_null(kind)):
        raise CpunmtError(f"{place} has the type {values.type}, expected string")
    try:
        values.validate(full=True)
    except pa.ArrowInvalid as error:
        raise CpunmtError(f"{place}: {error}, expected valid UTF-8") from None
    return values.to_pylist()  # type: ignore[no-any-return]


def text_type(values: Any) -> Any:
    """Returns the type of the values; of a dictionary, its values' type."""
    import pyarrow as pa

    return values.type.value_type if pa.types.is_dictionary(values.type) else values.type


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    is_view = getattr(pa.types, "is_string_view", lambda _: False)  # since pyarrow 16
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or is_view(kind))


def with_columns(rows: Rows, made: Made, job: Job, text: Any) -> Any:
    """Returns the table of the rows with their new columns; `text` is Arrow's type of the new texts.

    Skips flagged rows if `job.drop`.
    """
    import pyarrow as pa

    table = rows.held
    for name, values in made.columns.items():
        kind = pa.float64() if name == "score" else text
        table = table.append_column(pa.field(name, kind), pa.array(map(_clean, values), kind))
    if made.flags is None:
        return table
    if job.drop:
        return table.filter(pa.array([not flags for flags in made.flags], pa.bool_()))
    kind = pa.list_(pa.string())
    return table.append_column(pa.field("flags", kind), pa.array(map(list, made.flags), kind))


def write_parquet(rows: Rows, made: Made, job: Job) -> bytes:
    """Returns a Parquet file of the rows with their new columns."""
    pa = pyarrow()
    sink = io.BytesIO()
    pa.parquet.write_table(with_columns(rows, made, job, pa.string()), sink)
    return sink.getvalue()


def _clean(value: str | float | None) -> str | float | None:
    """Replaces characters that UTF-8 cannot encode."""
    return value.encode(errors="replace").decode() if isinstance(value, str) else value
