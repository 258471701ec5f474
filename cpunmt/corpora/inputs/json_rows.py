"""Rows that are JSON objects, one a line: members stay as they are written, and new ones follow them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from itertools import islice

from cpunmt.corpora.inputs.lines import decoded
from cpunmt.corpora.inputs.rows import Made, Rows
from cpunmt.corpora.job import Job
from cpunmt.errors import CpunmtError

_BLANK = " \t\r"


def read_json_lines(payload: bytes, job: Job, where: str, first: int) -> Rows:
    """Reads the texts of the objects; a blank line is not a row, and stays.

    Raises CpunmtError, which names the line, if it is not an object, lacks the column, has something other than text or
    null in it, or already has a member of a new name.
    """
    texts: list[str | None] = []
    targets: list[str | None] = []
    languages: list[tuple[str | None, ...]] = []
    lines: list[tuple[str, bool]] = []
    for number, line in enumerate(decoded(payload, where, first), first):
        line, is_row = line.rstrip(_BLANK), bool(line.strip(_BLANK))
        lines.append((line, is_row))
        if not is_row:
            continue
        place = f"{where}: line {number}"
        if line.startswith("\ufeff"):
            raise CpunmtError(f"{place}: begins with a byte order mark, which JSON has not; remove it")
        fields = _object(line, place)
        texts.append(_text(fields, job.column, place))
        if job.target is not None:
            targets.append(_text(fields, job.target, place, "target_column"))
        if job.languages:
            languages.append(
                tuple(_text(fields, column, place, f"{name}_column") for name, column in job.languages.items())
            )
        for name in new_names(job):
            if name in fields:
                raise CpunmtError(f"{place}: has {name!r} already, which is to be added; choose another (into=NAME)")
    place_of = partial(_place, where, first, lines)
    return Rows(texts, None if job.target is None else targets, lines, languages, place_of)


def _place(where: str, first: int, lines: list[tuple[str, bool]], row: int) -> str:
    numbers = (number for number, (_, is_row) in enumerate(lines, first) if is_row)
    return f"{where}: line {next(islice(numbers, row, None))}"


def new_names(job: Job) -> list[str]:
    """Returns the names of new columns."""
    names = [] if job.target is not None else [job.into]
    names += ["score"] * (job.with_score or job.target is not None)
    return names + ["flags"] * (bool(job.filters) and not job.drop)


def write_json_lines(rows: Rows, made: Made, job: Job) -> bytes:
    """Returns the bytes of the objects with their new members last; skips flagged ones if `job.drop`."""
    return "".join(_lines(rows, made, job)).encode(errors="replace")


def _lines(rows: Rows, made: Made, job: Job) -> Iterator[str]:
    heads = [f", {_dumped(name)}: " for name in made.columns]
    columns = list(made.columns.values())
    row = 0
    for line, is_row in rows.held:
        if not is_row:
            yield "\n"
            continue
        if not (job.drop and made.flagged(row)):
            added = "".join(head + _dumped(column[row]) for head, column in zip(heads, columns, strict=True))
            if made.flags is not None and not job.drop:
                added += f', "flags": {_dumped(list(made.flags[row]))}'
            yield f"{line[:-1].rstrip(_BLANK)}{added}}}\n"
        row += 1


def _dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _object(line: str, place: str) -> dict[str, object]:
    try:
        found = json.loads(line, parse_int=len)  # integers may have any length, and are not used
    except RecursionError:
        raise CpunmtError(
            f"{place}: has too many arrays and objects within each other to be read; expected a few levels"
        ) from None
    except ValueError as error:
        raise CpunmtError(f"{place}: is not JSON ({error}); expected an object {{...}}") from None
    if not isinstance(found, dict):
        raise CpunmtError(f"{place}: is a JSON {type(found).__name__}, expected an object {{...}}")
    return found


def _text(fields: dict[str, object], name: str, place: str, option: str = "column") -> str | None:
    if name not in fields:
        there = ", ".join(map(repr, list(fields)[:10])) or "nothing"
        raise CpunmtError(f"{place}: has no {name!r}; there is {there}; name the column ({option}=NAME)")
    value = fields[name]
    if value is not None and not isinstance(value, str):
        raise CpunmtError(f"{place}: {name!r} is a {type(value).__name__}, expected text or null")
    return value
