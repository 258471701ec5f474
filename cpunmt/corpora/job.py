"""What is to be made of rows: the columns, the filters, and the names of all that in a sidecar."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from cpunmt.options.options import Options
from cpunmt.values.checks import check_fields, shown
from cpunmt.values.fields import checked, ranged, switch

_MOST = 1e9  # of a filter: JSON has no infinity
_NO_MATTER = ("max_batch_size", "max_batch_tokens")  # options that change the time, and no bit of a result

LEFT_OUT = (
    *("html", "xml", "tags", "num_hypotheses", "num_candidates", "rerank"),
    *("return_alternatives", "min_alternative_expansion_prob"),
)  # options of other results than one text for each


def _code(name: str, value: object) -> str:
    if not (isinstance(value, str) and value.strip()):
        raise ValueError(f"{name} is {shown(value)}, expected a code such as de")
    return value


@dataclasses.dataclass(frozen=True)
class Filters:
    """Which rows are flagged; None and False: not for that. See `flags`.

    min_score         a score below that
    max_length_ratio  more pieces of one side for each of the other than that
    no_loops          a translation that repeats itself, of a text that does not
    no_truncated      a translation that the length limit cut off
    language          a translation in another language than that
    """

    min_score: float | None = ranged(-_MOST, _MOST, None)
    max_length_ratio: float | None = ranged(1, _MOST, None)
    no_loops: bool = switch(False)
    no_truncated: bool = switch(False)
    language: str | None = checked(_code, None)

    def __post_init__(self) -> None:
        """Raises TypeError or ValueError, which names the filter, for a wrong value."""
        check_fields(self)

    def __bool__(self) -> bool:
        return self != Filters()


@dataclasses.dataclass(frozen=True)
class Job:
    """What is made of each row.

    column      of JSON and Parquet: where the text is
    into        the new column with its translation
    target      of pairs that are scored: the column of the other side; None: texts are translated
    with_score  a new column with the score
    filters     which rows are flagged, in a new column `flags`
    drop        leave flagged rows out
    """

    column: str = "source"
    into: str = "translation"
    target: str | None = None
    with_score: bool = False
    filters: Filters = Filters()
    drop: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Its fields, for JSON."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Job:
        """The job that `to_dict` told of."""
        return cls(**{**fields, "filters": Filters(**fields["filters"])})


def named_options(options: Options) -> dict[str, Any]:
    """What options are, as JSON holds it: those that are not `Options()`'s and may change a result.

    Raises ValueError for a function, which cannot be told from another one by what it is called.
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
