"""Finds the stars, underscores and strokes of a paragraph that are emphasis (CommonMark 0.31, 6.2; GitHub's `~~`)."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field

from cpunmt.documents.markdown.tags import Tag

_NAMES = {"~": "del"}


@dataclass(slots=True, eq=False)
class Run:
    """A run of the same sign.

    count    number of its signs that are still text
    size     number of its signs
    closing  closing tags made of its signs; they stand before the text
    opening  opening tags made of its signs, the last first; they stand behind the text
    """

    sign: str
    count: int
    opens: bool
    closes: bool
    size: int = 0
    closing: list[Tag] = field(default_factory=list)
    opening: list[Tag] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.size = self.count

    @property
    def parts(self) -> list[str | Tag]:
        """Its closing tags, its text and its opening tags, in order."""
        return [*self.closing, self.sign * self.count, *reversed(self.opening)]


def run_of(signs: str, before: str, after: str) -> Run:
    """Returns the run of these signs; `before` and `after` decide whether emphasis can begin or end with it."""
    sign, before, after = signs[0], before or " ", after or " "
    left = not after.isspace() and (not _is_sign(after) or before.isspace() or _is_sign(before))
    right = not before.isspace() and (not _is_sign(before) or after.isspace() or _is_sign(after))
    opens, closes = left, right
    if sign == "_":
        opens, closes = left and (not right or _is_sign(before)), right and (not left or _is_sign(after))
    if sign == "~" and len(signs) != 2:
        opens = closes = False
    return Run(sign, len(signs), opens, closes)


def pair(runs: Sequence[Run]) -> None:
    """Makes emphasis of these runs, in their order. Takes time in proportion to their signs."""
    waiting: dict[str, list[tuple[int, Run]]] = {"*": [], "_": [], "~": []}
    least: dict[tuple[str, bool, int], int] = {}  # kind of an end -> the number of the first run that may begin it
    for number, run in enumerate(runs):
        opened = waiting[run.sign]
        while run.closes and run.count:
            kind = (run.sign, run.opens, run.size % 3)
            low = least.get(kind, 0)
            at = len(opened) - 1
            while at >= 0 and opened[at][0] >= low and not _match(opened[at][1], run):
                at -= 1
            if at < 0 or opened[at][0] < low:
                least[kind] = number
                break
            other, opener = opened[at]
            size = 2 if run.count >= 2 and opener.count >= 2 else 1
            name = _NAMES.get(run.sign) or ("strong" if size == 2 else "em")
            opener.count -= size
            run.count -= size
            opener.opening.append(Tag("open", name, run.sign * size))
            run.closing.append(Tag("close", name, run.sign * size))
            del opened[at + (opener.count > 0) :]
            for others in waiting.values():  # what is open between the two is text
                while others and others[-1][0] > other:
                    others.pop()
        if run.opens and run.count:
            opened.append((number, run))


def _match(opener: Run, closer: Run) -> bool:
    """Returns whether emphasis can begin with one and end with the other (CommonMark's rules 9 and 10)."""
    if not opener.count:
        return False
    if (opener.closes or closer.opens) and closer.sign != "~":
        return (opener.size + closer.size) % 3 != 0 or (opener.size % 3 == 0 and closer.size % 3 == 0)
    return True


def _is_sign(character: str) -> bool:
    return unicodedata.category(character)[0] in "PS"
