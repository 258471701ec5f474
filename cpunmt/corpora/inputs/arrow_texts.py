"""Columns of Arrow as texts, for Parquet files and for tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cpunmt.errors import CpunmtError

if TYPE_CHECKING:
    import pyarrow as pa


def texts_of(values: pa.ChunkedArray | pa.Array, place: str) -> list[str | None]:
    """The texts of a column, None for nulls. Raises CpunmtError, which names the place, if it has anything else."""
    import pyarrow as pa

    kind = text_type(values)
    if not (_is_text(kind) or pa.types.is_null(kind)):
        raise CpunmtError(f"{place} has the type {values.type}, expected string")
    try:
        values.validate(full=True)
    except pa.ArrowInvalid as error:
        raise CpunmtError(f"{place}: {error}, expected valid UTF-8") from None
    return values.to_pylist()  # type: ignore[no-any-return]


def text_type(values: pa.ChunkedArray | pa.Array) -> Any:
    """The type of its values, of a dictionary's too."""
    import pyarrow as pa

    return values.type.value_type if pa.types.is_dictionary(values.type) else values.type


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    is_view = getattr(pa.types, "is_string_view", lambda _: False)  # of pyarrow since 16
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or is_view(kind))
