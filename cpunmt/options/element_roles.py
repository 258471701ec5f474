"""Validates the option `tags`: the roles of elements by name."""

from __future__ import annotations

import re
from collections.abc import Mapping

from cpunmt.values.checks import shown

# The roles of elements in the option `tags`.
KEEP, SPLIT, WITHIN = "keep", "split", "inline"
REST = "*"  # in XML: all elements without a role of their own
_MOST_NAMES = 1000
_NAME = re.compile(r"[^\s<>&=,\"'/]{1,200}")


def element_roles(value: object) -> tuple[tuple[str, str], ...]:
    """Returns the option `tags`, a mapping or "x=keep, par=split", as pairs of name and role.

    Raises TypeError for another type, ValueError for an impossible name, an unknown role, or more than 1,000 names.
    """
    if isinstance(value, str):
        value = [part.strip().split("=", 1) for part in value.split(",")]
    pairs = list(value.items()) if isinstance(value, Mapping) else value
    if not isinstance(pairs, list | tuple) or not all(isinstance(pair, list | tuple) for pair in pairs):
        raise TypeError(f"tags is {shown(value)}, expected a mapping of names to keep, split or inline")
    if len(pairs) > _MOST_NAMES:
        raise ValueError(f"tags has {len(pairs)} names; give at most {_MOST_NAMES}")
    for pair in pairs:
        if len(pair) != 2 or pair[1] not in (KEEP, SPLIT, WITHIN):
            raise ValueError(f"tags has {shown(pair)}, expected a name and keep, split or inline: x=keep")
        if not isinstance(pair[0], str) or not _NAME.fullmatch(pair[0]):
            raise ValueError(f"tags has {shown(pair[0])}, expected the name of an element")
    return tuple(sorted({str(name): str(role) for name, role in pairs}.items()))
