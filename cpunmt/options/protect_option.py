"""Validates the option `protect`: the parts of a text to keep."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from cpunmt.text.units import Protected
from cpunmt.values.checks import as_key, shown
from cpunmt.values.spelling import did_you_mean

# In the order of the search. A layer of its own finds `tag`, the vocabulary finds `unknown`.
KINDS = (
    *("code", "placeholder", "email", "url", "path", "version", "date", "hash", "phone", "option", "identifier"),
    *("mention", "emoji", "unknown", "tag"),
)

MOST = 1000  # kinds, patterns and functions: every sentence is searched for each
_EXPECTED = (
    f"'all', 'none', or a list of kinds ({', '.join(KINDS)}), of regular expressions (re.compile) and of functions"
)


def protected(value: Any) -> str | tuple[Protected, ...]:
    """Returns text or a tuple: "all", "none", or kinds, patterns and functions, each once.

    Commas separate kinds in text. Raises TypeError or ValueError for any other value.
    """
    if isinstance(value, str):
        given: list[Any] = [kind.strip() for kind in value.split(",")]
    elif isinstance(value, re.Pattern) or callable(value):
        given = [value]
    elif (
        isinstance(value, Iterable)
        and not isinstance(value, bytes | bytearray | Mapping)
        and getattr(value, "shape", None) != ()  # an array that has no items
    ):
        given = list(islice(value, MOST + 1))
        if len(given) > MOST:
            raise ValueError(f"protect has more than {MOST} items; give at most {MOST}")
    else:
        raise TypeError(f"protect is {shown(value)}, expected {_EXPECTED}")
    names = [item for item in given if isinstance(item, str)]
    for name in names:
        if name not in KINDS and name not in ("all", "none"):
            meant = did_you_mean(name, ["all", "none", *KINDS])
            raise ValueError(f"protect is {shown(name)}, expected {_EXPECTED}{meant}")
    if "none" in names and len(given) > 1:
        raise ValueError("protect has 'none' and something else beside it; expected one of them")
    found: list[Any] = [kind for kind in KINDS if kind in names or "all" in names]
    for item in given:
        if isinstance(item, str):
            continue
        if isinstance(item, re.Pattern) and not isinstance(item.pattern, str):
            raise TypeError(f"protect has {shown(item)}, a regular expression of bytes; expected one of text")
        if not isinstance(item, re.Pattern) and not callable(item):
            raise TypeError(f"protect has {shown(item)}, expected {_EXPECTED}")
        key = item if isinstance(item, re.Pattern) else as_key(item)
        if key not in found:
            found.append(key)
    if found == list(KINDS):
        return "all"
    return tuple(found) or "none"
