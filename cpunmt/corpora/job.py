"""The work on rows: columns, filters, and their description in a sidecar."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from cpunmt.options.options import SPOKEN, Options
from cpunmt.results.results import DOUBTS, DoubtName
from cpunmt.values.checks import check_fields, shown
from cpunmt.values.fields import checked, ranged, switch

SHARD_ROWS = 50_000  # of a part, unless another number is given
_MOST = 1e9  # of a filter: JSON has no infinity
_NO_MATTER = ("max_batch_size", "max_batch_tokens")  # options that change the time, and no result

LEFT_OUT = (
    *("html", "xml", "tags", "num_hypotheses", "num_candidates", "rerank"),
    *("return_alternatives", "min_alternative_expansion_prob"),
)  # options with other results than one text for each


def _code(name: str, value: object) -> str:
    if not (isinstance(value, str) and value.strip()):
        raise ValueError(f"{name} is {shown(value)}, expected a code such as de")
    return value


def _column(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} is {value!r}, expected the name of a column")
    return value


def _doubts(name: str, value: object) -> str:
    """Validates names of doubts with commas between, or "all", and puts them in order."""
    given = value.replace(" ", "").split(",") if isinstance(value, str) else []
    names = DOUBTS if given == ["all"] else tuple(one for one in DOUBTS if one in given)
    if not names or not {*given} <= {*DOUBTS, "all"}:
        raise ValueError(f"{name} is {shown(value)}, expected all, or some of {', '.join(DOUBTS)} with commas between")
    return ",".join(names)


@dataclasses.dataclass(frozen=True)
class Filters:
    """The filters that flag rows; None and False switch one off. See `flags`. `help` is that of the command line."""

    min_score: float | None = ranged(
        -_MOST, _MOST, None, takes="X", help="flag rows of a lower score (see --length-penalty)"
    )
    max_length_ratio: float | None = ranged(
        1, _MOST, None, takes="R", help="flag rows whose one side has more than R times the pieces"
    )
    no_loops: bool = switch(False, help="flag translations that look like loops")
    no_truncated: bool = switch(False, help="flag translations that the length limit cut off")
    language: str | None = checked(
        _code, None, takes="CODE", help="flag translations that are in another language than this"
    )
    doubts: str | None = checked(
        _doubts,
        None,
        takes="NAME,...",
        help=f"flag translations with these doubts, or all: {', '.join(DOUBTS)}",
    )

    def __post_init__(self) -> None:
        check_fields(self)

    def __bool__(self) -> bool:
        return self != Filters()

    @property
    def named_doubts(self) -> tuple[DoubtName, ...]:
        """The doubts that flag a row, in their order."""
        wanted = set((self.doubts or "").split(","))
        also = {"loop": self.no_loops, "truncated": self.no_truncated}
        return tuple(name for name in DOUBTS if name in wanted or also.get(name))


@dataclasses.dataclass(frozen=True)
class Job:
    """The work on each row. `help` is that of the command line.

    target   of scored pairs: the column of the other side; None: texts are translated
    filters  flag rows, in a new column `flags`

    The fields of SPOKEN with `_column` name the columns of each row's languages.
    """

    column: str = checked(_column, "source", takes="NAME", help="the column of JSON and Parquet to translate")
    into: str = checked(_column, "translation", takes="NAME", help="the new column with the translation")
    target: str | None = checked(_column, None)
    source_lang_column: str | None = checked(
        _column, None, takes="NAME", help="the column of JSON and Parquet with the language of each text, else --from"
    )
    target_lang_column: str | None = checked(
        _column, None, takes="NAME", help="the column with the language to translate to, else --to"
    )
    with_score: bool = switch(False, help="add a column `score`")
    filters: Filters = Filters()
    drop: bool = switch(False, help="leave flagged rows out (not of text)")

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def languages(self) -> dict[str, str]:
        """Returns the columns of languages, by the option that each of them sets."""
        columns = {name: getattr(self, f"{name}_column") for name in SPOKEN}
        return {name: column for name, column in columns.items() if column is not None}

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Job:
        return cls(**{**fields, "filters": Filters(**fields["filters"])})


def named_options(options: Options) -> dict[str, Any]:
    """Returns options as JSON values: the ones that differ from `Options()` and may change a result.

    Raises ValueError for a function, which its name does not identify.
    """
    found = {}
    for one in dataclasses.fields(Options):
        value = getattr(options, one.name)
        if one.name not in _NO_MATTER and value != one.default:
            named = _named(one.name, value)
            found[one.name] = _digest(named) if one.name == "glossary" else named  # it may have 200,000 terms
    return found


def _digest(value: object) -> str:
    return hashlib.blake2b(json.dumps(value).encode(), digest_size=16).hexdigest()


def _named(name: str, value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, re.Pattern):
        return ["pattern", value.pattern, value.flags]
    if isinstance(value, Mapping):
        return {str(key): _named(name, value[key]) for key in sorted(value)}
    if isinstance(value, set | frozenset):
        return sorted((_named(name, one) for one in value), key=repr)
    if isinstance(value, tuple | list):
        return [_named(name, one) for one in value]
    if isinstance(value, Callable):  # type: ignore[arg-type]
        raise ValueError(
            f"{name} has a function, and whether that has changed cannot be told; expected one of its names"
        )
    raise ValueError(f"{name} is a {type(value).__name__}, which cannot be kept in a file; expected text or numbers")
