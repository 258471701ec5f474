"""Nested braces."""

import re

_BRACES = re.compile("[{}]")


def brace_ends(text: str) -> dict[int, int]:
    """Where each closed `{` of `text` stands, and the end after its `}`: in linear time."""
    open_: list[int] = []
    ends: dict[int, int] = {}
    for brace in _BRACES.finditer(text):
        if brace.group() == "{":
            open_.append(brace.start())
        elif open_:
            ends[open_.pop()] = brace.end()
    return ends
