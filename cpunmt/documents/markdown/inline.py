"""Reads the inside of a paragraph of Markdown (CommonMark 0.31, GitHub's ~~strokes~~) as texts and tags.

Emphasis, links and tags of HTML stand around words, and so do ==marks== and [[links|with a text]] of other dialects.
Code, formulas and addresses are fixed parts of the sentence, and so are [[names of pages]], H~2~O and @keys of sources.
A sign without a partner is text. Takes one pass, in time linear in the length.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from cpunmt.markup.html_elements import BREAK, INLINE, ROLES, SKIPPED, VOID_ELEMENTS
from cpunmt.markup.html_syntax import decoded

_SPACE = r"[^\S\n]"
_ATTRIBUTE = rf"{_SPACE}{{1,99}}[A-Za-z_:][\w.:-]{{0,99}}(?:{_SPACE}*={_SPACE}*(?:\"[^\"]*\"|'[^']*'|[^\s\"'=<>`]+))?"
_PIECE = re.compile(
    r"(?P<escape>\\[!-/:-@\[-`{-~])|(?P<ticks>`+)"
    r"|(?P<url>(?:https?|ftp)://[^\s<>()\[\]*|\"']*[^\s<>()\[\]*|\"'.,;:!?])"
    r"|(?P<address><(?:[A-Za-z][\w+.-]{1,31}:[^\s<>]*|[^\s<>@]{1,64}@[^\s<>@]+)>)"
    rf"|(?P<tag><(?P<end>/?)(?P<name>[A-Za-z][\w:-]{{0,99}})(?:{_ATTRIBUTE}){{0,50}}{_SPACE}*/?>)"
    r"|(?P<comment><!--|<[?!])"
    r"|(?P<math>\$\$(?:[^$\\]|\\[\s\S]){1,1000}\$\$|\$(?![\s$])(?:[^$\\]|\\[\s\S]){1,1000}(?<!\s)\$(?![\d$]))"
    r"|(?P<entity>&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});)"
    r"|(?P<emoji>(?<![\w:]):[a-z0-9_+-]{2,40}:(?![\w:]))"
    r"|(?P<formula>(?<!\w)\w{1,30}(?:~[\w+-]{1,20}~|\^[\w+-]{1,20}\^)\w{0,30})"
    r"|(?P<key>(?<![\w@.])@[A-Za-z](?:[\w:.#/-]{0,99}\w)?)"
    r"|(?P<wiki>!?\[\[(?P<page>[^\[\]\n|]{1,500})(?:\\?\|(?P<said>[^\[\]\n|]{1,500}))?\]\](?![(\[]))"
    r"|(?P<note>\[\^[^\s\[\]]{1,200}\])|(?P<open>!?\[)|(?P<close>\])"
    r"|(?P<run>\*+|_+|~+|(?<![=\w])==(?=[^\s=])|(?<=[^\s=])==(?![=\w]))|(?P<break>\n)"
)
_ADDRESS = r"(?:[^\s()<\\]|\\\S)(?:[^\s()\\]|\\\S){0,2000}"
_TARGET = re.compile(
    rf"\(\s{{0,9}}(?:<(?:[^<>\n\\]|\\.){{0,2000}}>|(?:{_ADDRESS})?(?:\([^\s()]{{0,2000}}\)[^\s()]{{0,2000}}){{0,9}})"
    r"(?:\s{1,9}(?:\"(?:[^\"\\]|\\.){0,1000}\"|'(?:[^'\\]|\\.){0,1000}'|\((?:[^()\\]|\\.){0,1000}\)))?\s{0,9}\)"
)
_LABEL = re.compile(r"\[(?:[^\[\]\\]|\\.){1,999}\]")
_VALUE = r"(?:[#.][\w:-]+|[\w:-]+=(?:\"[^\"{}\n]*\"|[^\s{}\"]+))"
# `{#dogs .c}` and `{: .c}`, as many dialects have them
ATTRIBUTES = re.compile(rf"\{{:?{_SPACE}{{0,9}}{_VALUE}(?:{_SPACE}{{1,9}}{_VALUE}){{0,20}}{_SPACE}{{0,9}}\}}")
_LONGEST_LABEL = 1000  # characters, the bracket behind it included
_COMMENT_ENDS = {"<!--": "-->", "<?": "?>", "<!": ">"}
_SEPARATE = (BREAK, SKIPPED)
_NAMES = {"~": "del", "=": "mark"}


class Tag(NamedTuple):
    """A part of a paragraph that has its place among the words.

    kind    "open" and "close" for the two ends of an element, "point" for one that stands by itself
    name    the element of HTML whose rules it follows
    source  as it is written
    alt     the text of an image, None for other tags
    tail    of an image, the source behind its text
    is_raw  whether the source is a tag of HTML
    """

    kind: Literal["open", "close", "point"]
    name: str
    source: str
    alt: str | None = None
    tail: str = ""
    is_raw: bool = False

    @property
    def shown(self) -> str:
        """Its text within the text of an image."""
        return self.source.strip("`<>$") if self.name == "code" else ""


class Spelt(str):
    """A text that was written with a backslash or as a reference."""

    __slots__ = ()


Part = str | Tag


def label_of(text: str) -> str:
    """Returns the name of a link's definition in the form in which names are compared."""
    return " ".join(text.split()).casefold()


@dataclass(slots=True, eq=False)
class _Run:
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


def _run_of(signs: str, before: str, after: str) -> _Run:
    """Returns the run of these signs; `before` and `after` decide whether emphasis can begin or end with it."""
    sign, before, after = signs[0], before or " ", after or " "
    left = not after.isspace() and (not _is_sign(after) or before.isspace() or _is_sign(before))
    right = not before.isspace() and (not _is_sign(before) or after.isspace() or _is_sign(after))
    opens, closes = left, right
    if sign == "_":
        opens, closes = left and (not right or _is_sign(before)), right and (not left or _is_sign(after))
    if sign == "~" and len(signs) != 2:
        opens = closes = False
    return _Run(sign, len(signs), opens, closes)


def _pair(runs: Sequence[_Run]) -> None:
    """Pairs the signs of these ordered runs as emphasis (CommonMark 0.31, 6.2), in time linear in their number."""
    waiting: dict[str, list[tuple[int, _Run]]] = {sign: [] for sign in "*_~="}
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


def _match(opener: _Run, closer: _Run) -> bool:
    """Returns whether emphasis can begin with one and end with the other (CommonMark's rules 9 and 10)."""
    if not opener.count:
        return False
    if opener.closes or closer.opens:
        return (opener.size + closer.size) % 3 != 0 or opener.size % 3 == 0
    return True


def _is_sign(character: str) -> bool:
    return unicodedata.category(character)[0] in "PS"


class _Bracket:
    """A `[` or `![` that is open: its place among the parts, and the offset of its content in the text."""

    __slots__ = ("active", "at", "part", "source")

    def __init__(self, source: str, part: int, at: int) -> None:
        self.source, self.part, self.at, self.active = source, part, at, True


class Inline:
    """The parts of a paragraph.

    parts      texts and tags in turns, which nest
    spellings  of characters that the source has as references
    escaped    characters that the source has behind a backslash
    """

    def __init__(self, text: str, labels: Collection[str], breaks: Mapping[int, str] | None = None) -> None:
        r"""Reads a text. `labels`: names that links may use; `breaks`: offset of a \n -> the source of this break."""
        self.spellings: dict[str, str] = {}
        self.escaped: set[str] = set()
        self._text = text
        self._labels = labels
        self._breaks = breaks or {}
        self._found: list[str | Tag | _Run] = []
        self._brackets: list[_Bracket] = []
        self._ends: dict[str, int] = {}  # of comments: offset of the next end, -1 if none follows
        self._scan()
        _pair([part for part in self._found if isinstance(part, _Run)])
        self.parts: list[Part] = _nested(_flat(self._found))

    def _scan(self) -> None:
        text, at = self._text, 0
        runs = _runs(text)
        while found := _PIECE.search(text, at):
            if at < found.start():
                self._found.append(text[at : found.start()])
            begin, at = found.span()
            kind, piece = found.lastgroup, found[0]
            if found["tag"] is not None:
                self._tag(found)
            elif kind == "escape":
                self.escaped.add(piece[1])
                self._found.append(Spelt(piece[1]))
            elif kind == "ticks":
                at = self._code(begin, at, runs)
            elif kind == "wiki":
                at = self._wiki(found)
            elif kind in ("url", "math", "address", "formula", "key"):
                self._found.append(Tag("point", "code", piece))
            elif kind in ("note", "emoji"):
                self._found.append(Tag("point", "x", piece))
            elif kind == "comment":
                at = self._comment(begin, piece)
            elif kind == "entity":
                self._entity(piece)
            elif kind == "open":
                self._brackets.append(_Bracket(piece, len(self._found), at))
                self._found.append(piece)
            elif kind == "close":
                at = self._close(at)
            elif kind == "break":
                self._found.append(Tag("point", "br", self._breaks.get(begin, piece)))
            else:
                after = self._breaks.get(at, text[at : at + 1])[:1]
                self._found.append(_run_of(piece, text[max(begin - 1, 0) : begin], after))
        if at < len(text):
            self._found.append(text[at:])

    def _code(self, begin: int, at: int, runs: dict[int, list[int]]) -> int:
        """Processes code that begins at `begin`; returns the offset after it."""
        size = at - begin
        places = runs.get(size, [])
        while places and places[-1] <= begin:
            places.pop()
        if not places:
            self._found.append("`" * size)
            return at
        end = self._attributes(places.pop() + size)
        self._found.append(Tag("point", "code", self._text[begin:end].replace("\n", " ")))
        return end

    def _wiki(self, found: re.Match[str]) -> int:
        """Processes `[[page]]`, `[[page|text]]` or `![[picture]]`, unless it is a defined link in brackets; returns the
        offset after it, or after what was processed of it."""
        piece, said = found["wiki"], found["said"]
        if label_of(found["page"]) in self._labels:
            opening = piece[: piece.index("[") + 1]
            self._brackets.append(_Bracket(opening, len(self._found), found.start() + len(opening)))
            self._found.append(opening)
            return found.start() + len(opening)
        if said is None or piece[0] == "!":
            self._found.append(Tag("point", "img" if piece[0] == "!" else "code", piece))
        else:
            opening = self._text[found.start() : found.start("said")]
            inner = Inline(said, self._labels)
            self.spellings |= inner.spellings
            self.escaped |= inner.escaped
            self._found += [Tag("open", "a", opening), *inner.parts, Tag("close", "a", "]]")]
        return found.end()

    def _attributes(self, at: int) -> int:
        found = ATTRIBUTES.match(self._text, at) if self._text.startswith("{", at) else None
        return found.end() if found else at

    def _tag(self, found: re.Match[str]) -> None:
        piece, name = found["tag"], found["name"].lower()
        if piece.endswith("/>") or name in VOID_ELEMENTS:
            self._found.append(Tag("point", name, piece, is_raw=True))
        else:
            self._found.append(Tag("close" if found["end"] else "open", name, piece, is_raw=True))

    def _comment(self, begin: int, piece: str) -> int:
        end = self._ends.get(piece, 0)
        if 0 <= end <= begin:
            end = self._ends[piece] = self._text.find(_COMMENT_ENDS[piece], begin + len(piece))
        if end < 0 or (piece == "<!" and not self._text[begin + 2 : begin + 3].isalpha()):
            self._found.append(piece)
            return begin + len(piece)
        end += len(_COMMENT_ENDS[piece])
        self._found.append(Tag("point", "x", self._text[begin:end].replace("\n", " ")))
        return end

    def _entity(self, piece: str) -> None:
        character = decoded(piece, {})
        if character == piece:
            self._found.append(piece)
            return
        if len(character) == 1 and (not character.isascii() or character in "&<>\"'"):
            self.spellings.setdefault(character, piece)
        self._found.append(Spelt(character))

    def _close(self, at: int) -> int:
        """Processes a `]`; returns the offset after it."""
        if not self._brackets:
            self._found.append("]")
            return at
        bracket = self._brackets.pop()
        if not bracket.active:
            self._found.append("]")
            return at
        target = _TARGET.match(self._text, at) or _LABEL.match(self._text, at)
        if target is None and (span := ATTRIBUTES.match(self._text, at)):
            self._around(bracket, at - 1, "span", f"]{span[0]}")
            return span.end()
        if target is not None:
            end = self._attributes(target.end())
            self._around(bracket, at - 1, "a", f"]{self._text[at:end]}")
            return end
        label = self._text[bracket.at : at - 1] if at - bracket.at <= _LONGEST_LABEL else ""
        if label_of(label) in self._labels:
            self._around(bracket, at - 1, "a", f"][{label}]".replace("\n", " "))
            return at + 2 if self._text.startswith("[]", at) else at
        self._found.append("]")
        return at

    def _around(self, bracket: _Bracket, end: int, name: str, tail: str) -> None:
        """Makes a link or an image of the bracket, whose content ends at `end`."""
        inner = self._found[bracket.part + 1 :]
        _pair([part for part in inner if isinstance(part, _Run)])
        flat = _flat(inner)
        if bracket.source == "![":
            alt = "".join(part if isinstance(part, str) else part.alt or part.shown for part in flat)
            source = f"![{self._text[bracket.at : end]}{tail}".replace("\n", " ")
            self._found[bracket.part :] = [Tag("point", "img", source, alt, tail)]
            return
        self._found[bracket.part :] = [Tag("open", name, "["), *flat, Tag("close", name, tail)]
        for other in reversed(self._brackets):  # links do not nest
            if not other.active:
                break
            other.active = other.source == "!["


def _flat(found: list[str | Tag | _Run]) -> list[Part]:
    """Returns texts and tags, without empty texts."""
    flat: list[Part] = []
    for part in found:
        flat += part.parts if isinstance(part, _Run) else [part]
    return [part for part in flat if part != ""]


def _nested(parts: list[Part]) -> list[Part]:
    """Nests all tags: a tag of HTML without a partner, or with one beyond an end of emphasis, becomes a point."""
    made = list(parts)
    opened: list[int] = []
    waiting = [Counter[str]()]  # names of tags that are open, in each element of Markdown

    def alone(number: int) -> None:
        tag = made[number]
        assert isinstance(tag, Tag)
        made[number] = Tag("point", "br" if ROLES.get(tag.name, INLINE) in _SEPARATE else "x", tag.source)

    for number, part in enumerate(parts):
        if not isinstance(part, Tag) or part.kind == "point":
            continue
        if part.kind == "open":
            opened.append(number)
            if part.is_raw:
                waiting[-1][part.name] += 1
            else:
                waiting.append(Counter())
        elif part.is_raw and not waiting[-1][part.name]:
            alone(number)
        else:
            while opened:
                last = opened.pop()
                other = made[last]
                assert isinstance(other, Tag)
                if other.is_raw:
                    waiting[-1][other.name] -= 1
                else:
                    waiting.pop()
                if (other.is_raw, other.name) == (part.is_raw, part.name):
                    break
                alone(last)
    for number in opened:
        alone(number)
    return made


def _runs(text: str) -> dict[int, list[int]]:
    """Returns the offsets of runs of back-quotes by their lengths, the last first."""
    found: dict[int, list[int]] = {}
    for run in re.finditer("`+", text):
        found.setdefault(len(run[0]), []).append(run.start())
    for places in found.values():
        places.reverse()
    return found
