"""Units with marks in them: a text, and what stands in it that is no text but has its place.

In a unit a mark is a tag of XML with the number of what it stands for, so that it is translated, and placed by
alignment, as every other text with tags:

<g n="1">...</g>  what stands around words: emphasis
<x n="1"/>        what stands beside a word: a line break
<k n="1"/>        what is a part of the sentence, and stays: code
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import unescape
from typing import NamedTuple

TAGS = {"g": "inline", "x": "inline", "k": "keep", "unit": "split"}  # as the option `tags` takes it
_TAG = re.compile(r'<(/?)([gxk])(?: n="(\d+)")?/?>')
_ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_OPEN, _CLOSE = "<unit>", "</unit>"


class Mark(NamedTuple):
    """A mark in a text: `g`, `x` or `k`, its number, and of `g` whether it is the end."""

    kind: str
    number: int
    closes: bool = False


def written(parts: Sequence[str | Mark]) -> str:
    """Texts and marks as the text of a unit. Of texts white space is one space, as XML has it."""
    found = []
    for part in parts:
        if isinstance(part, str):
            found.append(part.translate(_ESCAPED))
        elif part.closes:
            found.append("</g>")
        else:
            found.append(f'<{part.kind} n="{part.number}"{">" if part.kind == "g" else "/>"}')
    return "".join(found)


def read(text: str) -> list[str | Mark]:
    """The texts and marks of a unit's translation."""
    found: list[str | Mark] = []
    opened: list[int] = []
    at = 0
    for tag in _TAG.finditer(text):
        if at < tag.start():
            found.append(unescape(text[at : tag.start()]))
        at = tag.end()
        if tag[1]:
            found.append(Mark("g", opened.pop(), True))
            continue
        number = int(tag[3])
        if tag[2] == "g":
            opened.append(number)
        found.append(Mark(tag[2], number))
    if at < len(text):
        found.append(unescape(text[at:]))
    return found


def together(units: Sequence[str]) -> str:
    """Units as one document of XML, which is translated at once."""
    return "".join(f"{_OPEN}{unit}{_CLOSE}\n" for unit in units)


def apart(document: str) -> list[str]:
    """The units of such a document."""
    return [part.rpartition(_OPEN)[2] for part in document.split(_CLOSE)[:-1]]
