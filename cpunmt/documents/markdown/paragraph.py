"""A paragraph of Markdown as a unit of HTML, whose rules find its sentences, and its translation as Markdown.

Each translation is read again before it is used. If a sign of its text would be read as a link or emphasis, or emphasis
as signs, it is written in another way.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from html import escape, unescape
from itertools import pairwise
from typing import NamedTuple

from cpunmt.documents.markdown.inline import Inline, Part, Spelt, Tag
from cpunmt.markup.units import Mark, Unit, Words, parts_of, words_of
from cpunmt.text.signs import has_letters

_ALT = re.compile(r' alt="([^"]*)"')
_PUNCTUATION = r"[!-/:-@\[-`{-~]"
_SIGN = re.compile(rf"[*_`\[\]<|$~!=@^]|\\(?={_PUNCTUATION})|&(?=#?\w{{1,31}};)")
_EVERY_SIGN = re.compile(r"[*_`\[\]<|$~!=@^\\]|&(?=#?\w{1,31};)")
_USUAL = frozenset("*_`[]<|\\")  # a backslash stands before them, unless the source has them without
# Beginnings of lines that are not paragraphs: a list, a heading, a quotation, a rule, code, a comment, a definition
_BLOCK = re.compile(
    r"(?:[-+*:](?=\s|$)|[0-9]{1,9}(?=[.)](?:\s|$))|#{1,6}(?=\s|$)|>|~~~|```[^`]*$|\$\$[^$]*$|:::|<[!?]|\[[^\[\]]*\]:"
    r"|([-=_*])(?:\s*\1){2,}\s*$|[-=]+\s*$)"
)
_HTML = {"*": "em", "_": "em", "**": "strong", "__": "strong", "~~": "del", "==": "mark"}
_STARS = {"_": "*", "__": "**"}


class Line(NamedTuple):
    """A line, up to a break.

    words  parts between spaces at which a line of the file may end
    after  the source of the break, "" for none
    """

    words: list[str]
    after: str


class Paragraph:
    """The text of a paragraph, a heading or a cell.

    unit  None if nothing is to be translated
    """

    unit: Unit | None

    def __init__(self, lines: Sequence[str], breaks: Sequence[str], labels: Collection[str], in_table: bool = False):
        r"""Reads lines, each without white space at its ends.

        `breaks`: the source of the break between each two lines, "" for none. `labels`: names that links may use, as
        `label_of` writes them.
        """
        self._labels = labels
        self._in_table = in_table
        text, places = lines[0], {}
        for line, source in zip(lines[1:], breaks, strict=True):
            if source:
                places[len(text)] = source
            text += ("\n" if source else " ") + line
        self._text = text
        self._inline = Inline(text, labels, places)
        self._sources: dict[tuple[int, bool], Tag] = {}  # (number of a mark, whether it closes) -> its tag
        self._tags = [part for part in self._inline.parts if isinstance(part, Tag)]
        bare = "".join(part for part in self._inline.parts if isinstance(part, str))
        own = "".join(" " if isinstance(part, Spelt) else part for part in self._inline.parts if isinstance(part, str))
        self._bare = {found[0] for found in _SIGN.finditer(own)} - self._inline.escaped
        if not (has_letters(bare) or any(has_letters(_read_of(tag)) for tag in self._tags)):
            self.unit = None
        else:
            self.unit = Unit(words_of(self._marked()), True) if self._tags else Unit(bare)

    @property
    def is_row(self) -> bool:
        """Returns whether all its words are in links and images, as in a line of a menu."""
        depth = 0
        for part in self._inline.parts:
            if isinstance(part, Tag):
                depth += (part.name == "a") * {"open": 1, "close": -1, "point": 0}[part.kind]
            elif not depth and any(map(str.isalnum, part)):
                return False
        return any(tag.name in ("a", "img") for tag in self._tags)

    def _marked(self) -> Iterator[str | Mark]:
        """Yields texts, and for each tag a mark."""
        opened: list[int] = []
        for number, part in enumerate(self._inline.parts):
            if isinstance(part, str):
                yield str(part)
                continue
            tag = part.source if part.is_raw else f"<{part.name}/>"
            if part.kind == "close":
                begun = opened.pop()
                self._sources[begun, True] = part
                yield Mark("g", begun, True, f"</{self._sources[begun, False].name}>")
                continue
            self._sources[number, False] = part
            if part.kind == "open":
                opened.append(number)
                tag = part.source if part.is_raw else f"<{part.name}>"
            elif part.alt is not None:
                tag = f'<img alt="{escape(part.alt)}"/>'
            elif part.name == "code" and not part.is_raw:
                tag = "<code></code>"
            yield Mark("g" if part.kind == "open" else "x", number, False, tag)

    def write(self, translation: Words) -> list[Line] | None:
        """Returns the unit's translation as Markdown; None if every spelling of it would be read differently."""
        if isinstance(translation, str):
            translation = translation.replace("\n", " ")
        parts = [
            part if isinstance(part, str) else _changed(self._sources[part.number, part.closes], part.tag)
            for part in parts_of(translation)
        ]
        if _counts(parts) != _counts(self._tags):
            return None
        ways: list[tuple[bool, dict[str, str]]] = [(True, {}), (False, {}), (False, _STARS), (False, _HTML)]
        for is_plain, sources in ways:
            tried = [_respelt(part, sources) for part in parts]
            lines = self._lines(tried, is_plain)
            if lines is not None:
                return lines
        return None

    def _lines(self, parts: Sequence[Part], is_plain: bool) -> list[Line] | None:
        """Returns the lines of these parts; None if they would be read as other parts."""
        text, breaks = "", {}
        fixed: set[int] = set()  # offsets of spaces at which a line must not end
        for part in parts:
            if isinstance(part, str):
                text += self._escaped(part, is_plain)
                continue
            begin = len(text)
            if part.name == "br" and not part.is_raw and part.source[0] != "<":
                breaks[begin] = part.source
                text += "\n"
            elif part.alt is not None and part.source == "":
                text += f"![{self._escaped(part.alt, False)}{part.tail}"
            else:
                text += part.source
            fixed.update(at for at in range(begin, len(text)) if text[at] == " ")
        if (block := _BLOCK.match(text)) and not _BLOCK.match(self._text):
            if parts and not isinstance(parts[0], str):
                return None
            at = block.end() if text[0].isdigit() else 0
            text = f"{text[:at]}\\{text[at:]}"
            breaks = {place + 1: source for place, source in breaks.items()}
            fixed = {place + 1 for place in fixed}
        if _said(Inline(text, self._labels, breaks).parts) != _said(parts):
            return None
        lines, begin = [], 0
        for end, source in [*breaks.items(), (len(text), "")]:
            cuts = [at for at in range(begin, end) if text[at] == " " and at not in fixed]
            words = [text[one + 1 : other] for one, other in pairwise([begin - 1, *cuts, end])]
            lines.append(Line(words, source))
            begin = end + 1
        return lines

    def _escaped(self, text: str, is_plain: bool) -> str:
        """Writes a text as Markdown. `is_plain`: adds no backslash to signs that lack one in the source."""
        spellings = self._inline.spellings
        signs = _SIGN if is_plain else _EVERY_SIGN
        if spellings:
            signs = re.compile(f"[{re.escape(''.join(spellings))}]|{signs.pattern}")

        def one(found: re.Match[str]) -> str:
            sign = found[0]
            if sign in spellings:
                return spellings[sign]
            if sign == "|":
                return "\\|" if self._in_table else "|"
            is_bare = sign in self._bare or sign not in _USUAL
            is_bare = is_bare and is_plain and sign != "&" and sign not in self._inline.escaped
            return sign if is_bare else f"\\{sign}"

        return signs.sub(one, text)


def _counts(parts: Sequence[Part]) -> Counter[tuple[str, str]]:
    return Counter((tag.kind, tag.name) for tag in parts if isinstance(tag, Tag))


def _changed(tag: Tag, written: str) -> Tag:
    """Returns a tag as its mark was written, with translated attributes."""
    if tag.is_raw and tag.kind != "close":
        return tag._replace(source=written)
    alt = _ALT.search(written)
    if alt is None or unescape(alt[1]) == tag.alt:
        return tag
    return tag._replace(alt=unescape(alt[1]), source="")


def _read_of(tag: Tag) -> str:
    """Returns the translatable values of a tag's attributes."""
    if tag.is_raw:
        return "".join(re.findall(r"(?:alt|title|aria-label|placeholder)\s*=\s*(\"[^\"]*\"|'[^']*'|\S+)", tag.source))
    return tag.alt or ""


def _respelt(part: Part, sources: dict[str, str]) -> Part:
    """Returns a tag of emphasis in another notation, and any other part as it is."""
    if isinstance(part, str) or part.name not in _HTML.values() or part.is_raw:
        return part
    new = sources.get(part.source)
    if new is None or not new.isalpha():
        return part if new is None else part._replace(source=new)
    return part._replace(source=f"<{'/' * (part.kind == 'close')}{new}>", is_raw=True)


def _said(parts: Sequence[Part]) -> list[object]:
    """Returns parts in a canonical form, to compare content: joined texts, and tags as they are written."""
    found: list[object] = []
    for part in parts:
        if isinstance(part, Tag):
            found.append((part.kind, part.name, part.alt if part.alt is not None else part.source))
        elif found and isinstance(found[-1], str):
            found[-1] += part
        elif part:
            found.append(str(part))
    return found
