"""Parses XML, and units with marks, into blocks of text. No element has a meaning of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html.entities import html5
from typing import Literal

from cpunmt.errors import XmlError
from cpunmt.markup import document
from cpunmt.markup.blocks import MARK
from cpunmt.markup.document import HAS_LETTER, MOST_NESTED, MOST_TEXT, Content, Document, Item
from cpunmt.markup.units import Mark, Part
from cpunmt.options.element_roles import KEEP, REST, SPLIT, WITHIN

_LINE = re.compile(r"[\r\n]\s*")
_ENTITY = re.compile(r"&[^#;&][^;&]*;")
_OPENING = len("<![CDATA[")
_CLOSING = len("]]>")

OPEN, CLOSE, EMPTY, CDATA, OTHER, TEXT = range(6)
Token = tuple[int, int, int, str]  # kind, begin, end, name of the element

_NAME = r"(?:[^\W\d]|:)[\w:.\u00b7-]*"
# Text behind a name is examined once: a lookahead keeps a shorter name from being tried.
_TAG = re.compile(rf"<(/?)({_NAME})(?=[\s/>])([^<>\"']*(?:(?:\"[^\"<]*\"|'[^'<]*')[^<>\"']*)*)>")
_ATTRIBUTES = re.compile(rf"(?:\s+{_NAME}\s*=\s*(?:\"[^\"]*\"|'[^']*'))*\s*(/?)")
_DOCTYPE = re.compile(r"<!DOCTYPE[^\[<>\"']*(?:(?:\"[^\"]*\"|'[^']*')[^\[<>\"']*)*(?:\[[^\]]*\]\s*)?>")
_REFERENCE = re.compile(rf"&(?:#[0-9]{{1,7}}|#x[0-9a-fA-F]{{1,6}}|{_NAME});")
_SECTIONS = (("<!--", "-->", OTHER), ("<![CDATA[", "]]>", CDATA), ("<?", "?>", OTHER))


def read_xml(text: str, tags: Mapping[str, str], lines: bool = True) -> Document:
    """Parses an XML document, or a part of one, into its texts.

    An element belongs to the text around it if its parent has text of its own; otherwise the texts before, within and
    after it are separate. Comments and processing instructions stay beside their word; entities unknown to HTML stand
    for a word. CDATA without other text beside it is a text without tags; other CDATA stays.

    Parameters
    ----------
    tags : name of an element -> "keep", "split" or "inline", which takes precedence; "*": all other names
    lines : whether lines of a text, between two tags, are separate texts

    Raises XmlError for XML that is not well-formed.
    """
    return _Reader(Document(text), _scan(text), tags, lines).read()


_UNIT = "unit"  # name of the element around a whole unit
_TAGS = {"g": WITHIN, "x": WITHIN, "k": KEEP, _UNIT: SPLIT}


def read_parts(parts: Sequence[Part], lines: bool = True) -> Document:
    """Parses the texts of a unit, whose marks count as tags, see `read_xml`."""
    marks: dict[int, Mark] = {}
    texts: list[str] = []
    tokens: list[Token] = [(OPEN, 0, 0, _UNIT)]
    at = 0
    for part in parts:
        text = part if isinstance(part, str) else part.tag
        if isinstance(part, str):
            tokens.append((TEXT, at, at + len(part), ""))
        else:
            marks[at] = part
            kind = EMPTY if part.kind != "g" else CLOSE if part.closes else OPEN
            tokens.append((kind, at, at + len(text), part.kind))
        texts.append(text)
        at += len(text)
    tokens.append((CLOSE, at, at, _UNIT))
    return _Reader(Document("".join(texts), marks=marks), tokens, _TAGS, lines).read()


class _Reader:
    def __init__(self, found: Document, tokens: list[Token], tags: Mapping[str, str], lines: bool) -> None:
        self.found = found
        self.text = found.html
        self.syntax: Literal["xml", "parts"] = "xml" if found.marks is None else "parts"
        self.tags = tags
        self.lines = lines
        self.tokens = tokens
        self.partners: dict[int, int] = {}  # number of a start tag -> number of its end tag
        self.mixed: set[int] = set()  # start tags of elements with text of their own; -1: the document
        self.parents: list[int] = []  # for each token, the number of the start tag around it
        self.items: list[Item] = []
        self.has_letters = False
        self.depth = self.size = 0
        self.splits: list[bool] = []  # for each open element, whether its tags separate texts

    def read(self) -> Document:
        self._nest()
        number = 0
        while number < len(self.tokens):
            kind, begin, end, name = self.tokens[number]
            is_mixed = self.parents[number] in self.mixed
            if kind == TEXT:
                self._lines(begin, end)
            elif kind == CDATA:
                self._cdata(begin, end, is_mixed)
            elif kind == CLOSE:
                self._close(begin, end, name)
            elif kind in (OPEN, EMPTY):
                number = self._element(number, is_mixed)
            else:
                self.items.append((document.POINT, begin, end, ""))
            number += 1
        self._break()
        return self.found

    def _nest(self) -> None:
        """Finds the pairs of tags, and the elements that have text."""
        opened = [-1]
        last: Token | None = None
        for number, token in enumerate(self.tokens):
            kind, begin, end, name = token
            if kind == CLOSE:
                other = opened.pop()
                if other < 0 or self.tokens[other][3] != name:
                    raise _broken(self.text, begin, "this end tag is not that of the element that is open")
                self.partners[other] = number
            self.parents.append(opened[-1])
            if kind == OPEN:
                opened.append(number)
            elif kind == TEXT and self._is_text(begin, end, opened[-1], last):
                self.mixed.add(opened[-1])
            last = token
        if len(opened) > 1:
            raise _broken(self.text, self.tokens[opened[-1]][1], "the element that begins here is not closed")

    def _is_text(self, begin: int, end: int, parent: int, last: Token | None) -> bool:
        """Returns whether a text is more than layout; in a part of a document, so is a space between two elements."""
        text = self.text[begin:end]
        between = parent == -1 and last is not None and last[0] in (CLOSE, EMPTY) and end < len(self.text)
        return not text.isspace() or (between and "\n" not in text)

    def _element(self, number: int, is_mixed: bool) -> int:
        """Processes an element; returns the number of its last token."""
        kind, begin, end, name = self.tokens[number]
        role = self.tags.get(name) or self.tags.get(REST) or (WITHIN if is_mixed else SPLIT)
        if role == KEEP:
            last = self.partners.get(number, number)
            if is_mixed:
                self.items.append((document.HOLD, begin, self.tokens[last][2], ""))
            else:
                self._break()
            return last
        if role == SPLIT:
            self._break()
        elif kind == EMPTY:
            self.items.append((document.POINT, begin, end, MARK))
        else:
            self.depth += 1
            if self.depth > MOST_NESTED or self.size > MOST_TEXT:
                self._break()
            self.items.append((document.START, begin, end, name))
        if kind == OPEN:
            self.splits.append(role == SPLIT)
        return number

    def _close(self, begin: int, end: int, name: str) -> None:
        if self.splits.pop():
            self._break()
            return
        self.depth -= 1
        if self.depth < -MOST_NESTED or self.size > MOST_TEXT:
            self._break()
        self.items.append((document.END, begin, end, name))

    def _lines(self, begin: int, end: int) -> None:
        if self.lines and not self.text[begin:end].isspace():
            for found in _LINE.finditer(self.text, begin, end):
                if self.has_letters or begin < found.start():
                    self._text(begin, found.start())
                    self._break()
                    begin = found.end()
        self._text(begin, end)

    def _text(self, begin: int, end: int) -> None:
        self.has_letters = self.has_letters or HAS_LETTER.search(self.text, begin, end) is not None
        self.size += end - begin
        for found in _ENTITY.finditer(self.text, begin, end) if self.syntax == "xml" else ():
            if found[0][1:] not in html5:
                if begin < found.start():
                    self.items.append((document.TEXT, begin, found.start(), ""))
                self.items.append((document.HOLD, *found.span(), ""))
                begin = found.end()
        if begin < end:
            self.items.append((document.TEXT, begin, end, ""))

    def _cdata(self, begin: int, end: int, is_mixed: bool) -> None:
        if is_mixed:
            self.items.append((document.HOLD, begin, end, ""))
            return
        self._break()
        begin, end = begin + _OPENING, end - _CLOSING
        if self.text.find("<", begin, end) >= 0:
            return
        parts = []
        for found in _LINE.finditer(self.text, begin, end) if self.lines else ():
            parts.append((begin, found.start()))
            begin = found.end()
        for first, last in [*parts, (begin, end)]:
            if HAS_LETTER.search(self.text, first, last):
                items = [(document.TEXT, first, last, "")]
                self.found.contents.append(Content(items, False, None, "raw"))

    def _break(self) -> None:
        if self.has_letters:
            self.found.contents.append(Content(self.items, False, None, self.syntax))
        self.items = []
        self.has_letters = False
        self.depth = self.size = 0


def _scan(text: str) -> list[Token]:
    """Returns the tokens of `text`, ascending, which cover all of it.

    OPEN, CLOSE, EMPTY  a tag; <a/> is EMPTY
    CDATA, OTHER        such a section; a comment, a processing instruction, a declaration
    TEXT                everything between

    Raises XmlError, with the line and column, for anything else. Does not check the nesting of tags.
    """
    tokens: list[Token] = []
    at = 0
    while at < len(text):
        begin = text.find("<", at)
        if begin < 0:
            begin = len(text)
        if at < begin:
            _check_references(text, at, begin)
            tokens.append((TEXT, at, begin, ""))
        if begin == len(text):
            break
        tokens.append(_section(text, begin) if text.startswith(("<!", "<?"), begin) else _tag(text, begin))
        at = tokens[-1][2]
    return tokens


def _broken(text: str, at: int, said: str) -> XmlError:
    """Makes the error at the offset `at`."""
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    return XmlError(f"line {line}, column {column}: {said}")


def _tag(text: str, begin: int) -> Token:
    found = _TAG.match(text, begin)
    if found is None:
        raise _broken(text, begin, "this < begins no tag; expected &lt; for the character, or a tag that ends")
    slash, name, rest = found.groups()
    if slash:
        if rest.strip():
            raise _broken(text, begin, "this end tag has more than a name; expected >")
        return CLOSE, begin, found.end(), name
    inner = _ATTRIBUTES.fullmatch(rest)
    if inner is None:
        raise _broken(text, begin, 'the attributes of this tag are not well-formed; expected name="value"')
    return EMPTY if inner[1] else OPEN, begin, found.end(), name


def _section(text: str, begin: int) -> Token:
    for first, last, kind in _SECTIONS:
        if text.startswith(first, begin):
            end = text.find(last, begin + len(first))
            if end < 0:
                raise _broken(text, begin, f"this {first} does not end; expected {last}")
            return kind, begin, end + len(last), ""
    found = _DOCTYPE.match(text, begin)
    if found is None:
        raise _broken(text, begin, "this <! begins no comment, CDATA or document type that ends; expected one of these")
    return OTHER, begin, found.end(), ""


def _check_references(text: str, begin: int, end: int) -> None:
    at = text.find("&", begin, end)
    while at >= 0:
        found = _REFERENCE.match(text, at, end)
        if found is None:
            raise _broken(text, at, "this & begins no reference; expected &amp; for the character")
        at = text.find("&", found.end(), end)
