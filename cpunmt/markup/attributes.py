"""The attributes of a tag: which have text that people read, and what they say about the element's language."""

from __future__ import annotations

import re
from typing import NamedTuple

from cpunmt.markup.html_elements import CODE_CLASSES, CODE_PREFIXES, ONLY_WITH, READ
from cpunmt.markup.scanner import SPACE
from cpunmt.text.language_codes import first_part

_ATTRIBUTE = re.compile(
    rf"([^{SPACE}/>][^{SPACE}/>=]*)(?:[{SPACE}]*=[{SPACE}]*(?:\"([^\"]*)\"|'([^']*)'|([^{SPACE}>\"'][^{SPACE}>]*)))?"
)
_NAME = re.compile(rf"[^{SPACE}/>]*")  # of the element
# A tag with none of these attributes is as any other, but for the class notranslate.
INTERESTING = re.compile(
    rf"[{SPACE}/\"'](?=[tTlLcCaApPvV])"
    r"(?i:translate|lang|contenteditable|title|alt|aria-[a-z]*|placeholder|label|abbr|content|value)"
    rf"[{SPACE}/>=]"
)
NOTRANSLATE = re.compile("notranslate", re.I)


class Value(NamedTuple):
    """The value of an attribute: where it stands, quotation marks left out, and which of them it has, if any."""

    begin: int
    end: int
    quote: str


def attributes_of(html: str, begin: int, end: int) -> dict[str, Value]:
    """The attributes of the tag from `begin` to `end`, by name in small letters; of several equal ones the first."""
    values: dict[str, Value] = {}
    at = _NAME.match(html, begin + 1, end).end()  # type: ignore[union-attr]
    for found in _ATTRIBUTE.finditer(html, at, end - 1):
        group = found.lastindex or 1
        begin_, end_ = found.span(group) if group > 1 else (found.end(), found.end())
        values.setdefault(found[1].lower(), Value(begin_, end_, ("", "", '"', "'", "")[group]))
    return values


def to_translate(html: str, name: str, values: dict[str, Value]) -> list[Value]:
    """The values that people read, ascending."""
    found = []
    for attribute, value in values.items():
        elements = READ.get(attribute, frozenset())
        if elements is not None and name not in elements:
            continue
        if attribute in ONLY_WITH:
            other, expected = ONLY_WITH[attribute]
            if other not in values or html[values[other].begin : values[other].end].strip().lower() not in expected:
                continue
        if value.begin < value.end:
            found.append(value)
    return found


def is_to_be_left(html: str, name: str, values: dict[str, Value], language: str | None) -> bool:
    """Whether the content is not to be translated: `translate="no"`, class notranslate, text that people edit, `lang`.

    `language` is that of the text, None: not known; what <html> and <body> say of it is not asked.
    """

    def text(attribute: str) -> str | None:
        value = values.get(attribute)
        return None if value is None else html[value.begin : value.end].strip().lower()

    if text("translate") == "no" or "notranslate" in (text("class") or "").split():
        return True
    if text("contenteditable") in ("", "true", "plaintext-only"):
        return True
    said = text("lang")
    if said is None or language is None or name in ("html", "body"):
        return False
    wanted = first_part(language)
    return said != wanted and not said.startswith(f"{wanted}-")


def is_code(html: str, values: dict[str, Value]) -> bool:
    """Whether the class of a <pre> says that it is a program, or what a terminal shows."""
    value = values.get("class")
    names = [] if value is None else html[value.begin : value.end].lower().split()
    return any(name in CODE_CLASSES or name.startswith(CODE_PREFIXES) for name in names)
