"""Where the markup of an XML text stands: one pass, in time linear in its length. XML 1.0 (W3C, fifth edition).

A text is a document or a part of one: it may have several elements, and text beside them. Neither the document type nor
entities are read, and nothing is fetched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from cpunmt.errors import XmlError

OPEN, CLOSE, EMPTY, CDATA, OTHER, TEXT = range(6)
Token = tuple[int, int, int, str]  # kind, begin, end, name of the element

_NAME = r"(?:[^\W\d]|:)[\w:.\u00b7-]*"
# What follows a name is looked at once: a lookahead keeps a name from being tried shorter.
_TAG = re.compile(rf"<(/?)({_NAME})(?=[\s/>])([^<>\"']*(?:(?:\"[^\"<]*\"|'[^'<]*')[^<>\"']*)*)>")
_ATTRIBUTES = re.compile(rf"(?:\s+{_NAME}\s*=\s*(?:\"[^\"]*\"|'[^']*'))*\s*(/?)")
_DOCTYPE = re.compile(r"<!DOCTYPE[^\[<>\"']*(?:(?:\"[^\"]*\"|'[^']*')[^\[<>\"']*)*(?:\[[^\]]*\]\s*)?>")
_REFERENCE = re.compile(rf"&(?:#[0-9]{{1,7}}|#x[0-9a-fA-F]{{1,6}}|{_NAME});")
_SECTIONS = (("<!--", "-->", OTHER), ("<![CDATA[", "]]>", CDATA), ("<?", "?>", OTHER))


def scan_xml(text: str) -> Iterator[Token]:
    """The tokens of `text`, ascending: all of it.

    OPEN, CLOSE, EMPTY  a tag; of <a/> the last
    CDATA, OTHER        such a section; a comment, a processing instruction, a declaration
    TEXT                what lies between

    Raises XmlError, with the line and column, for what is none of these. That tags nest is not looked at.
    """
    at = 0
    while at < len(text):
        begin = text.find("<", at)
        if begin < 0:
            begin = len(text)
        if at < begin:
            _check_references(text, at, begin)
            yield TEXT, at, begin, ""
        if begin == len(text):
            return
        token = _section(text, begin) if text.startswith(("<!", "<?"), begin) else _tag(text, begin)
        yield token
        at = token[2]


def broken(text: str, at: int, said: str) -> XmlError:
    """The error for what stands at `at`."""
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    return XmlError(f"line {line}, column {column}: {said}")


def _tag(text: str, begin: int) -> Token:
    found = _TAG.match(text, begin)
    if found is None:
        raise broken(text, begin, "this < begins no tag; expected &lt; for the character, or a tag that ends")
    slash, name, rest = found.groups()
    if slash:
        if rest.strip():
            raise broken(text, begin, "this end tag has more than a name; expected >")
        return CLOSE, begin, found.end(), name
    inner = _ATTRIBUTES.fullmatch(rest)
    if inner is None:
        raise broken(text, begin, 'the attributes of this tag are not well-formed; expected name="value"')
    return EMPTY if inner[1] else OPEN, begin, found.end(), name


def _section(text: str, begin: int) -> Token:
    for first, last, kind in _SECTIONS:
        if text.startswith(first, begin):
            end = text.find(last, begin + len(first))
            if end < 0:
                raise broken(text, begin, f"this {first} does not end; expected {last}")
            return kind, begin, end + len(last), ""
    found = _DOCTYPE.match(text, begin)
    if found is None:
        raise broken(text, begin, "this <! begins no comment, CDATA or document type that ends; expected one of these")
    return OTHER, begin, found.end(), ""


def _check_references(text: str, begin: int, end: int) -> None:
    at = text.find("&", begin, end)
    while at >= 0:
        found = _REFERENCE.match(text, at, end)
        if found is None:
            raise broken(text, at, "this & begins no reference; expected &amp; for the character")
        at = text.find("&", found.end(), end)
