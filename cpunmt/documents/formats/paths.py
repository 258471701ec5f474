"""Selects values of a tree by a subset of JSONPath (RFC 9535), for JSON and YAML.

$.title  items[*].text  menu.*.label  $..description  ['a b'][0]  (the initial `$.` is optional)

The arguments of a template's functions (keys such as `Fn::GetAtt`), the names that others refer to (`Ref`, `$ref`) and
what is said about other keys (`@title` of ARB, `@type` of JSON-LD, not `@value`) stay, with their contents, unless a
path names the key. In YAML the same holds for `!GetAtt` and `!Ref`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from cpunmt.documents.document import DocumentError

_STEP = re.compile(
    r"(?P<deep>\.\.)?(?:(?P<dot>\.)?(?P<name>[^\s.\[\]'\"*$]+|\*)|\[\s*(?:(?P<index>0|[1-9][0-9]{0,15})|(?P<any>\*)"
    r"|'(?P<single>(?:[^'\\]|\\.)*)'|\"(?P<double>(?:[^\"\\]|\\.)*)\")\s*\])"
)
_EXPECTED = "expected a path such as title, items[*].text, menu.*.label, $..description or ['a b']"
_SHOWN = 8  # keys in an error

Key = str | int
Step = tuple[bool, Key | None]  # (whether any number of steps may come before, the key, None for any key)
States = frozenset[tuple[int, int]]  # (path, number of its matched steps)

_STAYS: States = frozenset([(-1, 0)])  # within a reference or a function's arguments


class Paths:
    """A selection by paths; without paths it selects everything.

    The caller keeps the states of each value: `root` for the root; `below` returns those of a child.
    """

    def __init__(self, select: Sequence[str]) -> None:
        self._select = list(select)
        self._paths = [_steps(path) for path in select]
        self._found: set[int] = set()
        self._top: dict[Key, None] = {}  # keys of the root, to be shown
        self.root: States = frozenset((number, 0) for number in range(len(self._paths)))
        self._note(self.root)

    def below(self, states: States, key: Key) -> States:
        """Returns the states of the child with this key, or index from 0, of a value with `states`."""
        refers = isinstance(key, str) and (
            key in ("Ref", "$ref") or key.startswith("Fn::") or (key.startswith("@") and key != "@value")
        )
        if states is _STAYS or not self._paths:
            return _STAYS if refers else states
        if states is self.root and len(self._top) <= _SHOWN:
            self._top[key] = None
        found = set()
        is_named = False
        for number, done in states:
            steps = self._paths[number]
            if done == len(steps):
                found.add((number, done))  # everything in a selected value
                continue
            is_deep, name = steps[done]
            if is_deep:
                found.add((number, done))
            if name is None or name == key:
                found.add((number, done + 1))
                is_named = is_named or name == key
        if refers and not is_named:
            return _STAYS
        below = frozenset(found)
        self._note(below)
        return below

    def chosen(self, states: States) -> bool:
        """Returns whether a value with these states is selected."""
        if states is _STAYS:
            return False
        return not self._paths or any(done == len(self._paths[number]) for number, done in states)

    def check(self) -> None:
        """Raises DocumentError if one of the paths did not match anything; call it after reading a file."""
        for number, path in enumerate(self._select):
            if number not in self._found:
                keys = ", ".join(map(str, list(self._top)[:_SHOWN])) or "none"
                more = ", ..." if len(self._top) > _SHOWN else ""
                raise DocumentError(f"select {path!r}: nothing has this path; at the top are the keys {keys}{more}")

    def _note(self, states: States) -> None:
        for number, done in states:
            if done == len(self._paths[number]):
                self._found.add(number)


def _steps(path: str) -> list[Step]:
    steps: list[Step] = []
    at = len(path) if path == "$" else path.startswith("$")
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None or (found["name"] and not (found["deep"] or found["dot"]) and at):
            raise DocumentError(f"select {path!r}: character {at + 1} cannot be read; {_EXPECTED}")
        at = found.end()
        quoted = found["single"] if found["double"] is None else found["double"]
        key: Key | None
        if quoted is not None:
            key = re.sub(r"\\(.)", r"\1", quoted)
        elif found["index"]:
            key = int(found["index"])
        else:
            key = None if found["any"] or found["name"] == "*" else found["name"]
        steps.append((bool(found["deep"]), key))
    if not path:
        raise DocumentError(f"select {path!r}: is empty; {_EXPECTED}")
    return steps
