"""The languages of rows, in columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cpunmt.corpora.inputs.rows import Rows
from cpunmt.errors import CpunmtError
from cpunmt.text.languages.codes import code_of
from cpunmt.translator.translator import Translator

Direction = tuple[str, ...]  # the languages of a row, one for each column


def directions_of(
    rows: Rows, columns: Mapping[str, str], translator: Translator, options: Mapping[str, Any]
) -> list[Direction]:
    """Returns the languages of each row, as the model writes them; of a row without a text, or without columns, ().

    Null means the language of the call, or else of the model.

    Parameters
    ----------
    columns : option -> its column, in the order of `rows.languages`
    options : of the call

    Raises CpunmtError, which names the row, for a language that the model lacks, or if no language is named.
    """
    if not columns:
        return [()] * len(rows.texts)
    known: dict[tuple[str | None, ...], Direction] = {}
    found = []
    for row, (text, named) in enumerate(zip(rows.texts, rows.languages, strict=True)):
        if text is not None and named not in known:
            try:
                known[named] = _direction(named, columns, translator, options)
            except ValueError as error:
                raise CpunmtError(f"{rows.place(row)}: {error}") from None
        found.append(() if text is None else known[named])
    return found


def _direction(
    named: Sequence[str | None], columns: Mapping[str, str], translator: Translator, options: Mapping[str, Any]
) -> Direction:
    chosen = {}
    for value, (name, column) in zip(named, columns.items(), strict=True):
        value = value or options.get(name) or getattr(translator.options, name)
        if not value:
            raise ValueError(f"{column!r} names no language, expected one; or name that of such rows ({name}=CODE)")
        chosen[name] = value
    try:
        resolved = translator.call_settings(chosen, None).options
    except ValueError as error:
        message = str(error)
        for name, column in columns.items():
            message = message.replace(f"{name} is", f"{column!r} is", 1)
        raise ValueError(message) from None
    return tuple(getattr(resolved, name) or chosen[name] for name in columns)


def examples(columns: Iterable[str], translator: Translator) -> dict[str, Any]:
    """Returns a language for each option that has a column, to check a call before any row is read."""
    return {name: code_of(piece) for name in columns for piece in translator.config.languages[:1]}


def lists(columns: Iterable[str], directions: Sequence[Direction]) -> dict[str, Any]:
    """Returns the options of a call that name the languages of each text."""
    return {name: [direction[place] for direction in directions] for place, name in enumerate(columns)}
