"""Parses an HTML text into the parts to translate: blocks of text, and values of attributes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from cpunmt.markup.html_elements import (
    BESIDE,
    BREAK,
    CODE_CLASSES,
    CODE_PREFIXES,
    HELD,
    IMPLIED_ENDS,
    INLINE,
    ONLY_WITH,
    RAW_TEXT,
    READ,
    ROLES,
    SKIPPED,
    VOID,
    VOID_ELEMENTS,
)
from cpunmt.markup.html_syntax import CLOSE, OPEN, RAW, REST, SPACE, Token, scan
from cpunmt.markup.units import Mark
from cpunmt.options.element_roles import SPLIT, WITHIN
from cpunmt.text.languages.codes import first_part
from cpunmt.text.scripts import LETTER

MOST_NESTED = 32  # nested inline elements within a block; deeper ones separate texts
MOST_TEXT = 1 << 17  # characters of a block with tags; after these, a tag separates texts

TEXT, START, END, POINT, HOLD = range(5)  # a text, the two tags of an inline element, a part without text, a held part
Item = tuple[int, int, int, str]  # kind, begin, end, name

_PARTING = frozenset([BREAK, SKIPPED])
_LEFT = frozenset([HELD, BESIDE, SKIPPED])
_BLOCKS = frozenset(name for name, role in ROLES.items() if role == BREAK)
_PREFORMATTED = frozenset(["pre", "listing"])
HAS_LETTER = re.compile(LETTER)
# Everything between two tags that separates the links of a menu: their texts do not form a sentence.
_SIGN = (
    r"[|\u00a6\u00b7\u2022\u2027\u2219\u22c5\u00bb\u203a\u2192\u25b8>]"
    r"|&(?:gt|middot|bull|raquo|rsaquo|rarr|vert|verbar);"
)
_SEPARATOR = re.compile(rf"(?:\s|&nbsp;|&#160;){{0,8}}(?:{_SIGN}){{1,2}}(?:\s|&nbsp;|&#160;){{0,8}}")
_LONGEST_SEPARATOR = 40
_LINE = re.compile(r"[\r\n]+")
_OUTPUTS = ("<%=", "<%-", "<%:", "<?=")  # template tags that write a value
_ATTRIBUTE = re.compile(
    rf"([^{SPACE}/>][^{SPACE}/>=]*)(?:[{SPACE}]*=[{SPACE}]*(?:\"([^\"]*)\"|'([^']*)'|([^{SPACE}>\"'][^{SPACE}>]*)))?"
)
_ELEMENT = re.compile(rf"[^{SPACE}/>]*")  # name of the element
# Without any of these attributes, a tag's attributes need no further look, apart from the class notranslate.
_INTERESTING = re.compile(
    rf"[{SPACE}/\"'](?=[tTlLcCaApPvV])"
    r"(?i:translate|lang|contenteditable|title|alt|aria-[a-z]*|placeholder|label|abbr|content|value)"
    rf"[{SPACE}/>=]"
)
_NOTRANSLATE = re.compile("notranslate", re.I)


class Value(NamedTuple):
    """The value of an attribute: its span without quotation marks, and the quotation mark, if any."""

    begin: int
    end: int
    quote: str


@dataclass(slots=True)
class Content:
    """The items of a block, a text with its inline tags.

    preformatted  white space is text
    option        insertion point for the value of an <option> without one; None for all other blocks
    syntax        "html": names have their HTML meaning; "raw": references are text, as in CDATA; "parts": references
                  are text, and written text is not encoded either, see `units`
    """

    items: list[Item]
    preformatted: bool
    option: int | None
    syntax: Literal["html", "xml", "raw", "parts"] = "html"


@dataclass(slots=True)
class Document:
    """A parsed document: contents of blocks, ascending, and values of attributes to translate.

    marks  for a unit: offset in `html` -> the mark whose `tag` is there
    """

    html: str
    contents: list[Content] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    marks: dict[int, Mark] | None = None


def read_document(html: str, language: str | None = None, roles: Mapping[str, int] = ROLES) -> Document:
    """Parses `html` into its parts; its elements have these `roles`.

    `language`: of the text; elements in another language stay. None: all are translated. Never raises: an incomplete or
    unclosed part stays as it is.
    """
    return _Reader(html, language, roles).read()


class _Reader:
    def __init__(self, html: str, language: str | None, roles: Mapping[str, int]) -> None:
        self.html = html
        self.roles = roles
        self.language = language
        self.document = Document(html)
        self.items: list[Item] = []
        self.has_letters = False
        self.depth = 0
        self.size = 0
        self.preformatted = 0
        self.option: int | None = None
        self.has_class = _NOTRANSLATE.search(html) is not None

    def read(self) -> Document:
        at = 0
        left: _Left | None = None
        for token in scan(self.html):
            kind, begin, end, name = token
            if left is not None:
                if name not in left.matters or left.goes_on(token):
                    continue
                at = end if left.includes else begin
                self._add_left(left, at)
                includes, left = left.includes, None
                if includes:
                    continue
            if at < begin:
                self._text(at, begin)
            at = end
            if kind == OPEN:
                left = self._open(begin, end, name)
            elif kind == CLOSE:
                self._close(begin, end, name)
            elif kind == RAW:
                if name == "title":
                    self._text(begin, end)
            elif kind != REST:
                is_word = self.html.startswith(_OUTPUTS, begin)
                self.items.append((HOLD if is_word else POINT, begin, end, ""))
        if left is not None:
            self._add_left(left, len(self.html))
        elif at < len(self.html):
            self._text(at, len(self.html))
        self._break()
        return self.document

    def _add_left(self, left: _Left, end: int) -> None:
        if left.is_held:
            kind = POINT if self.roles.get(left.name) == BESIDE else HOLD
            self.items.append((kind, left.begin, end, left.name))

    def _open(self, begin: int, end: int, name: str) -> _Left | None:
        html = self.html
        role = self.roles.get(name, INLINE)
        is_left = role in _LEFT
        bare = begin + len(name) + 2
        attributes: dict[str, Value] = {}
        if name == "pre" and end > bare:
            is_left = _is_code(html, _attributes_of(html, begin, end))
        if end > bare:
            is_read = _INTERESTING.search(html, bare - 1, end) is not None
            if is_read or (self.has_class and not is_left and _NOTRANSLATE.search(html, bare, end)):
                attributes = _attributes_of(html, begin, end)
                if _is_to_be_left(html, name, attributes, self.language):
                    is_left = True
                elif is_read:
                    values = _to_translate(html, name, attributes)
                    self.document.values += [
                        value for value in values if HAS_LETTER.search(html, value.begin, value.end)
                    ]
        if role in _PARTING:
            if self.items or self.option is not None:
                self._break()
            if name in VOID_ELEMENTS:
                return None
        elif role == VOID or (html[end - 2] == "/" and self._closes_itself(end, bare)):
            self.items.append((POINT, begin, end, name))
            return None
        if is_left:
            return _Left(begin, name, role not in _PARTING)
        if role == INLINE:
            self.depth += 1
            if self.depth > MOST_NESTED or self.size > MOST_TEXT:
                self._break()
            self.items.append((START, begin, end, name))
        elif name in _PREFORMATTED:
            self.preformatted += 1
        elif name == "option" and "value" not in attributes:
            self.option = bare - 1
        return None

    def _closes_itself(self, end: int, bare: int) -> bool:
        """Returns whether the slash at the end closes the tag: not in `<a href=b/>`."""
        return end == bare + 1 or self.html[end - 3] in f"{SPACE}\"'"

    def _close(self, begin: int, end: int, name: str) -> None:
        role = self.roles.get(name, INLINE)
        if role in _PARTING:
            if self.items or self.option is not None:
                self._break()
            if name in _PREFORMATTED and self.preformatted:
                self.preformatted -= 1
        elif role == VOID:
            self.items.append((POINT, begin, end, name))
        else:
            self.depth -= 1
            if self.depth < -MOST_NESTED or self.size > MOST_TEXT:
                self._break()
            self.items.append((END, begin, end, name))

    def _text(self, begin: int, end: int) -> None:
        if self.preformatted:
            for found in _LINE.finditer(self.html, begin, end):
                if begin < found.start():
                    self._add(begin, found.start())
                self._break()
                begin = found.end()
            if begin == end:
                return
        self._add(begin, end)

    def _add(self, begin: int, end: int) -> None:
        if end - begin <= _LONGEST_SEPARATOR and self._separates(begin, end):
            self._break()
            return
        if not self.has_letters:
            self.has_letters = HAS_LETTER.search(self.html, begin, end) is not None
        self.size += end - begin
        self.items.append((TEXT, begin, end, ""))

    def _separates(self, begin: int, end: int) -> bool:
        """Returns whether a text between tags is a separator between menu links; a bar also within an element."""
        if not self.items or not _SEPARATOR.fullmatch(self.html, begin, end):
            return False
        return self.items[-1][0] != START or "|" in self.html[begin:end]

    def _break(self) -> None:
        if self.has_letters:
            self.document.contents.append(Content(self.items, self.preformatted > 0, self.option))
            self.has_letters = False
            self.items = []
        elif self.items:
            self.items = []
        self.depth = self.size = 0
        self.option = None


class _Left:
    """An element that is not translated, from its begin on.

    It ends with its end tag, or before a tag that implies its end. An element within a sentence also ends before the
    end of the block around it.
    """

    def __init__(self, begin: int, name: str, is_held: bool) -> None:
        self.begin = begin
        self.name = name
        self.is_held = is_held
        self.includes = True  # whether the closing tag belongs to it
        self.depth = 1  # depth of elements with its name
        self.blocks = 0  # open blocks within it
        self.siblings, self.parents = IMPLIED_ENDS.get(name, (frozenset(), frozenset()))
        self.nested = 0  # open elements of its parents' kind within it
        found = self.siblings | self.parents | {name}
        self.matters = found | _BLOCKS if is_held else found  # tags of other names cannot end it

    def goes_on(self, token: Token) -> bool:
        """Returns whether the element continues after the token; if not, `includes` says whether the token is in it."""
        kind, _, _, name = token
        if kind == OPEN:
            if name in self.siblings and not self.nested:
                self.includes = False
                return False
            if name == self.name and name not in VOID_ELEMENTS:
                self.depth += 1
            elif name in self.parents:
                self.nested += 1
            elif ROLES.get(name, INLINE) == BREAK and name not in VOID_ELEMENTS:
                self.blocks += 1
        elif kind == CLOSE:
            if name == self.name:
                self.depth -= 1
                return self.depth > 0
            if name in self.parents:
                self.nested -= 1
                self.includes = self.nested >= 0
            elif self.is_held and ROLES.get(name, INLINE) == BREAK:
                self.blocks -= 1
                self.includes = self.blocks >= 0
            return self.includes
        return True


def html_roles(tags: tuple[tuple[str, str], ...] | None) -> Mapping[str, int]:
    """Returns the roles of HTML's elements, changed by `tags`; elements without an end tag keep theirs."""
    said = {name.lower(): role for name, role in tags or () if name.lower() not in VOID_ELEMENTS | RAW_TEXT}
    kept = {name: SKIPPED if ROLES.get(name) in (BREAK, SKIPPED) else HELD for name in said}
    return ROLES | {name: {SPLIT: BREAK, WITHIN: INLINE}.get(role, kept[name]) for name, role in said.items()}


def _attributes_of(html: str, begin: int, end: int) -> dict[str, Value]:
    """Returns the attributes of a tag by name, in small letters; the first of several equal ones counts."""
    values: dict[str, Value] = {}
    at = _ELEMENT.match(html, begin + 1, end).end()  # type: ignore[union-attr]
    for found in _ATTRIBUTE.finditer(html, at, end - 1):
        group = found.lastindex or 1
        begin_, end_ = found.span(group) if group > 1 else (found.end(), found.end())
        values.setdefault(found[1].lower(), Value(begin_, end_, ("", "", '"', "'", "")[group]))
    return values


def _to_translate(html: str, name: str, values: dict[str, Value]) -> list[Value]:
    """Returns the attribute values that people read, ascending."""
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


def _is_to_be_left(html: str, name: str, values: dict[str, Value], language: str | None) -> bool:
    """Returns whether the content stays: `translate="no"`, class notranslate, text that people edit, `lang`.

    `language` is that of the text, None if unknown; the `lang` of <html> and <body> does not count.
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


def _is_code(html: str, values: dict[str, Value]) -> bool:
    """Returns whether the class of a <pre> marks a program, or the output of a terminal."""
    value = values.get("class")
    names = [] if value is None else html[value.begin : value.end].lower().split()
    return any(name in CODE_CLASSES or name.startswith(CODE_PREFIXES) for name in names)
