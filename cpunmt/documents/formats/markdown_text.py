"""The inside of a paragraph of Markdown (CommonMark 0.31, GitHub's tables and ~~strokes~~) as a unit, and back.

Emphasis, links and tags stand around words; code, formulas and addresses are parts of the sentence that stay. What
has no partner is text. One pass, in time linear in the length.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from html import unescape
from typing import NamedTuple

from cpunmt.documents.document import Unit, has_letters
from cpunmt.documents.marks import Mark, read, written

_PIECE = re.compile(
    r"(?P<escape>\\[!-/:-@\[-`{-~])|(?P<ticks>`+)|(?P<url>(?:https?|ftp)://[^\s<>()\[\]*|\"']+)|(?P<tag><[^<>\n]{1,2000}>)"
    r"|(?P<math>\$\$[^$]{1,1000}\$\$|\$(?![\s$])[^$]{1,1000}(?<!\s)\$(?![\d$]))"
    r"|(?P<entity>&(?:#\w{1,8}|\w{1,31});)|(?P<note>\[\^[^\s\[\]]{1,200}\])|(?P<open>!?\[)|(?P<close>\])"
    r"|(?P<stroke>\*{1,3}|(?<!\w)_{1,3}|_{1,3}(?!\w)|~~)"
)
_TARGET = re.compile(
    r"\(\s{0,9}(?:<[^<>\n]{0,2000}>|[^\s()<]{1,2000}(?:\([^\s()]{0,2000}\)[^\s()]{0,2000}){0,9})?"
    r"(?:\s{1,9}(?:\"[^\"]{0,1000}\"|'[^']{0,1000}'))?\s{0,9}\)"
)
_LABEL = re.compile(r"\[[^\[\]]{1,999}\]")
_NAME = re.compile(r"<(/?)([A-Za-z][\w:-]*)(?=[\s/>])")
_ADDRESS = re.compile(r"<(?:[A-Za-z][\w+.-]{1,31}:\S*|[^\s@]+@[^\s@]+)>")
_COMMENT = re.compile(r"<[!?]")
_SPECIAL = re.compile(r"[*_`\[\]<|]|\\(?=[!-/:-@\[-`{-~])")
_LONGEST_LABEL = 1000
_VOID = frozenset(["br", "hr", "img", "wbr", "input"])
_BLOCK = re.compile(r"([-+*>]|#{1,6}|[0-9]{1,9}(?=[.)]))(?:(?=[.)\s])|$)")


class _Opened(NamedTuple):
    """What waits for its other end: what it is, where among the parts, and where in the text it ends."""

    key: str
    part: int
    at: int


class Inline:
    """A paragraph.

    unit  None: nothing in it is to be translated
    """

    unit: Unit | None

    def __init__(self, text: str, labels: Collection[str], in_table: bool = False) -> None:
        """Of a text without line ends; `labels` are those that links may name, in small letters."""
        self._text = text
        self._labels = labels
        self._parts: list[str | Mark] = []
        self._sources: dict[tuple[int, bool], str] = {}  # number of a mark, whether it is an end -> what stands there
        self._opened: list[_Opened] = []
        self._waiting: Counter[str] = Counter()
        self._spellings: dict[str, str] = {}  # of characters that the source has as entities
        self._count = 0
        self._scan()
        bare = "".join(part for part in self._parts if isinstance(part, str))
        self._bare = set(_SPECIAL.findall(bare)) - set(re.findall(r"\\(.)", text)) - ({"|"} if in_table else set())
        self._bare |= set() if in_table else {"|"}
        if not has_letters(bare):
            self.unit = None
        elif self._sources:
            self.unit = Unit(written(self._parts), "marked")
        else:
            self.unit = Unit(bare)

    def write(self, translation: str) -> str:
        """The translation of the unit as Markdown."""
        if not self._sources:
            found = self._escaped(translation)
        else:
            made = [
                self._escaped(part) if isinstance(part, str) else self._sources[part.number, part.closes]
                for part in read(translation)
            ]
            found = "".join(made)
        found = " ".join(found.split("\n"))
        block = _BLOCK.match(found)  # what would be a list, a heading or a quotation
        if block is None or _BLOCK.match(self._text):
            return found
        at = block.end() if found[0].isdigit() else 0
        return f"{found[:at]}\\{found[at:]}"

    def _escaped(self, text: str) -> str:
        text = _SPECIAL.sub(lambda found: found[0] if found[0] in self._bare else f"\\{found[0]}", text)
        if self._spellings:
            spelt = "|".join(map(re.escape, self._spellings))
            text = re.sub(spelt, lambda found: self._spellings[found[0]], text)
        return text

    def _scan(self) -> None:
        text, at = self._text, 0
        runs = _runs(text)
        while found := _PIECE.search(text, at):
            if at < found.start():
                self._parts.append(text[at : found.start()])
            at = found.end()
            kind, piece = found.lastgroup, found[0]
            if kind == "escape":
                self._parts.append(piece[1])
            elif kind == "ticks":
                at = self._code(found.start(), at, runs)
            elif kind in ("url", "math"):
                self._mark("k", piece)
            elif kind == "note":
                self._mark("x", piece)
            elif kind == "tag":
                self._tag(piece)
            elif kind == "entity":
                self._entity(piece)
            elif kind == "open":
                self._open("[", piece, at)
            elif kind == "close":
                at = self._link(at)
            else:
                self._stroke(piece, found.start(), at)
        if at < len(text):
            self._parts.append(text[at:])
        for opened in self._opened:
            self._alone(opened)

    def _mark(self, kind: str, source: str) -> None:
        self._count += 1
        self._sources[self._count, False] = source
        self._parts.append(Mark(kind, self._count))

    def _code(self, begin: int, at: int, runs: dict[int, list[int]]) -> int:
        """Take code that begins at `begin`; where to go on."""
        size = at - begin
        places = runs.get(size, [])
        while places and places[-1] <= begin:
            places.pop()
        if not places:
            self._parts.append("`" * size)
            return at
        end = places.pop() + size
        self._mark("k", self._text[begin:end])
        return end

    def _tag(self, piece: str) -> None:
        name = _NAME.match(piece)
        if _ADDRESS.fullmatch(piece):
            self._mark("k", piece)
        elif name is None:
            if _COMMENT.match(piece):
                self._mark("x", piece)
            else:
                self._parts.append(piece)
        elif name[2].lower() in _VOID or piece.endswith("/>"):
            self._mark("x", piece)
        elif not name[1]:
            self._open("<" + name[2].lower(), piece, 0)
        elif self._waiting["<" + name[2].lower()]:
            self._pair("<" + name[2].lower(), piece)
        else:
            self._mark("x", piece)

    def _entity(self, piece: str) -> None:
        character = unescape(piece)
        if len(character) == 1 and not (character.isascii() and character.isalnum()):
            self._spellings.setdefault(character, piece)
        self._parts.append(character if len(character) == 1 else piece)

    def _open(self, key: str, piece: str, at: int) -> None:
        self._opened.append(_Opened(key, len(self._parts), at))
        self._waiting[key] += 1
        self._parts.append(piece)

    def _pair(self, key: str, closing: str) -> None:
        """What was opened last under `key` and `closing` stand around what is between; what is open in it is text."""
        self._around(self._pop(key), closing)

    def _around(self, opened: _Opened, closing: str) -> None:
        self._count += 1
        opening = self._parts[opened.part]
        assert isinstance(opening, str)
        self._sources[self._count, False], self._sources[self._count, True] = opening, closing
        self._parts[opened.part] = Mark("g", self._count)
        self._parts.append(Mark("g", self._count, True))

    def _pop(self, key: str) -> _Opened:
        while True:
            opened = self._opened.pop()
            self._waiting[opened.key] -= 1
            if opened.key == key:
                return opened
            self._alone(opened)

    def _alone(self, opened: _Opened) -> None:
        """What has no end: a tag is one all the same, all else is text."""
        if opened.key.startswith("<"):
            source = self._parts[opened.part]
            assert isinstance(source, str)
            self._count += 1
            self._sources[self._count, False] = source
            self._parts[opened.part] = Mark("x", self._count)

    def _link(self, at: int) -> int:
        """Take a `]`; where to go on."""
        if not self._waiting["["]:
            self._parts.append("]")
            return at
        target = _TARGET.match(self._text, at) or _LABEL.match(self._text, at)
        if target is not None:
            self._pair("[", f"]{target[0]}")
            return target.end()
        opened = self._pop("[")
        label = self._text[opened.at : at - 1] if at - opened.at < _LONGEST_LABEL else ""
        if label.lower() in self._labels:
            self._around(opened, f"][{label}]")
            return at + 2 if self._text.startswith("[]", at) else at
        self._parts.append("]")
        return at

    def _stroke(self, piece: str, begin: int, end: int) -> None:
        before, after = self._text[begin - 1 : begin], self._text[end : end + 1]
        if before and not before.isspace() and self._waiting[piece]:
            self._pair(piece, piece)
        elif after and not after.isspace():
            self._open(piece, piece, end)
        else:
            self._parts.append(piece)


def _runs(text: str) -> dict[int, list[int]]:
    """Where runs of back-quotes begin, by their lengths, the last first."""
    found: dict[int, list[int]] = {}
    for run in re.finditer("`+", text):
        found.setdefault(len(run[0]), []).append(run.start())
    for places in found.values():
        places.reverse()
    return found
