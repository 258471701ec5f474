"""Texts of programs: turns placeholders and tags into marks, for all formats that consist of such texts.

A placeholder is a part of the sentence and stays (`k`); a paired tag stands around words (`g`). If the order of
placeholders counts, as in `%s of %d`, a translation must keep it, or the placeholders are numbered if their language
allows that (POSIX fprintf: `%1$s`); otherwise the translation is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from cpunmt.alignment.edits import Edit
from cpunmt.documents.document import Source, Span
from cpunmt.markup.units import (  # fmt: skip
    Mark,
    Marked,
    MarkKind,
    Part,
    Sources,
    Unit,
    Words,
    bare,
    parts_of,
    unit_of,
    with_sources,
)
from cpunmt.process.stopping import checked
from cpunmt.registry.store import Languages
from cpunmt.sentence_layers.protection.patterns import MESSAGE, PATTERNS, brace_ends
from cpunmt.text.signs import has_letters

_CONVERSION = r"[-+ #0'I]{0,6}(?:\*(?:\d{1,2}\$)?|\d{1,9})?(?:\.(?:\*|\d{0,9}))?"
_LENGTH = r"(?:hh|ll|[hlqjztL])?"
PERCENT = (  # for a text known to have them: even "% d"
    rf"%%|%(?:\(\w{{1,64}}\)|\d{{1,3}}\$)?{_CONVERSION}{_LENGTH}(?:<PRI\w{{1,12}}>|[diouxXeEfFgGaAcCsSpnmr@])"
)
BRACES = r"\{[^{}\n]{0,200}(?:\{[^{}\n]{0,50}\}[^{}\n]{0,100})?\}"
_TRIGGER = re.compile("[{%$@<&]")  # every placeholder has one of these
_VOID = frozenset(["br", "hr", "img", "wbr", "input"])
_TAG = r"<(?P<closes>/?)(?P<tag>[A-Za-z0-9][\w:.-]{0,63})(?:\s[^<>\n]{0,500})?/?>"
_USUAL = (
    r"\$t\([^()\n]{1,200}\)"  # of i18next
    r"|@(?:\.\w{1,32})?:[\w.]{1,200}"  # of Vue
    r"|%\{\w{1,64}\}|%<\w{1,64}>[-+0#\d.]{0,8}[a-zA-Z]"  # of Ruby
    r"|&(?:#\w{1,8}|[A-Za-z]\w{1,30});"
)
_PLURALS = re.compile(r"\{\s{0,8}\w{1,64}\s{0,8},\s{0,8}(?:plural|selectordinal|select|choice)\s{0,8},")
_COUNTED = re.compile(r"%(?!%|\d{1,3}\$|\d{1,2}(?!\d|[.a-zA-Z$])|\(|\{|<(?!PRI))|\{(?:[!:][^{}]*)?\}$")
_AMPERSAND = re.compile(r"(?:(?<![A-Z\d\s&])|(?<!\S))&(?=[A-Za-z\d])(?!\w{1,31};)")  # not of `&copy;`
_UNDERSCORE = re.compile(r"(?<!\w)_(?=[A-Za-z\d])")
_ADDRESS = re.compile(r"\S*(?:://|=)\S*")
_LONGEST_LABEL = 60  # characters of a text that may have an accelerator
_TABS = re.compile(r"\t+")  # these stay in a text without marks
_SPACES = re.compile(r"[^\S ]\s*|\s{2,}")  # a text with marks has single spaces only


class Message:
    """A text with its units: each line of a text with placeholders, else the whole text.

    units  empty if nothing is translated, as for plurals of ICU (`{n, plural, ...}`)
    """

    __slots__ = ("_numbered", "_parts", "_sources", "_written", "text", "units")

    def __init__(self, text: str, known: str = "", numbered: bool = False, written: Callable[[str], str] = str) -> None:
        """Parses a text. Placeholders are the usual ones and all matches of the pattern `known`.

        numbered  whether counted placeholders can be numbered, as in `%1$s`
        written   converts what is no placeholder or tag for the file
        """
        self.text = text
        self.units: list[Unit] = []
        self._numbered = numbered
        self._written = written
        self._sources: Sources = {}
        self._parts: list[str | int] = []  # fixed texts, and numbers of units
        if not has_letters(text) or _PLURALS.search(text):
            return
        parts: list[Part] = self._marks(text, known) if _TRIGGER.search(text) else [text]
        for line in _lines(parts, _TABS if len(parts) == 1 else _SPACES):
            self._add(line)

    @property
    def placeholders(self) -> list[str]:
        """The placeholders and tags of the text, sorted."""
        return sorted(self._sources.values())

    def translated(self, translations: Sequence[Words]) -> str | None:
        """Returns the text with its units' translations; None if their placeholders come in another order."""
        if all(unit.words == translation for unit, translation in zip(self.units, translations, strict=True)):
            return self.text
        numbers = [part.number for words in translations for part in parts_of(words) if isinstance(part, Mark)]
        expected = [part.number for unit in self.units for part in parts_of(unit.words) if isinstance(part, Mark)]
        if sorted(numbers) != sorted(expected):
            return None
        sources = self._sources
        counted = [number for number in expected if _COUNTED.match(sources[number, False])]
        if counted != [number for number in numbers if number in set(counted)]:
            found = [sources[number, False] for number in counted]
            if not self._numbered or any(source[0] != "%" or "*" in source for source in found):
                return None
            numbered = enumerate(zip(counted, found, strict=True), 1)
            sources = {**sources, **{(number, False): f"%{place}${source[1:]}" for place, (number, source) in numbered}}
        lines = [with_sources(translation, sources, self._written) for translation in translations]
        return "".join(part if isinstance(part, str) else lines[part] for part in self._parts)

    def _marks(self, text: str, known: str) -> list[Part]:
        """Returns texts and marks in turns."""
        ends = brace_ends(text) if "{" in text else {}
        marked = Marked()
        begin = at = 0
        search = re.compile(f"{known}|{_TAG}|{_USUAL}|{PATTERNS['placeholder']}" if known else _ANY).search
        while found := search(text, at):
            at = found.end()
            if found[MESSAGE] is not None:
                if found.start() not in ends:
                    continue
                at = ends[found.start()]
            marked.parts.append(text[begin : found.start()])
            source, name = text[found.start() : at], (found["tag"] or "").lower()
            kind: MarkKind = "x" if name in _VOID else "k"
            if name and found["closes"]:
                marked.end(name, kind, source)
            elif name and not source.endswith("/>") and name not in _VOID:
                marked.begin(name, kind, source)
            else:
                marked.put(kind, source)
            begin = at
        self._sources = marked.sources
        return [*marked.parts, text[begin:]]

    def _add(self, parts: list[Part]) -> None:
        """Adds a unit of texts and marks, without the white space around it, or a fixed part."""
        if not has_letters(bare(parts)):
            self._parts += (
                self._written(part) if isinstance(part, str) else self._sources[part.number, part.closes]
                for part in parts
            )
            return
        before = after = ""
        if isinstance(parts[0], str):
            before = parts[0][: len(parts[0]) - len(parts[0].lstrip())]
            parts = [parts[0].lstrip(), *parts[1:]]
        if isinstance(parts[-1], str):
            after = parts[-1][len(parts[-1].rstrip()) :]
            parts = [*parts[:-1], parts[-1].rstrip()]
        self._parts += self._written(before), len(self.units), self._written(after)
        self.units.append(unit_of(parts))


def with_whole_characters(text: str) -> str:
    """Returns a text in which two halves of a character beyond U+FFFF are that character; half of one is U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def without_accelerator(text: str) -> str:
    """Removes the sign before the letter of a label's key, `&File`, `_File`, if it occurs once."""
    if len(text) > _LONGEST_LABEL or "\n" in text:
        return text
    for pattern in (_AMPERSAND, _UNDERSCORE):
        found = list(pattern.finditer(text))
        if len(found) == 1 and text.count(found[0][0]) == 1:
            if any(found[0].start() in range(*word.span()) for word in _ADDRESS.finditer(text)):
                return text
            return text[: found[0].start()] + text[found[0].end() :]
    return text


_ANY = f"{_TAG}|{_USUAL}|{PATTERNS['placeholder']}"


def _lines(parts: Sequence[Part], spaces: re.Pattern[str]) -> Iterator[list[Part]]:
    """Yields the parts between matches of `spaces`, and each match separately; never splits within a tag."""
    line: list[Part] = []
    depth = 0
    for part in parts:
        if isinstance(part, Mark):
            depth += (part.kind == "g") * (-1 if part.closes else 1)
            line.append(part)
            continue
        at = 0
        for blank in () if depth else spaces.finditer(part):
            if part[at : blank.start()]:
                line.append(part[at : blank.start()])
            if line:
                yield line
            yield [blank[0]]
            line, at = [], blank.end()
        if part[at:]:
            line.append(part[at:])
    if line:
        yield line


class Value(NamedTuple):
    """Texts of a file that are written together or not at all.

    messages  the texts
    spans     the replaced spans, ascending; an empty span is an insertion
    write     converts the translation of each message to one text per span
    """

    messages: Sequence[Message]
    spans: Sequence[Span]
    write: Callable[[Sequence[str]], Sequence[str]]


def single(message: Message, span: Span, write: Callable[[str], str]) -> Value:
    """Makes the value of a text in one place."""
    return Value([message], [span], lambda texts: [write(texts[0])])


class Values(NamedTuple):
    """The `Contents` of a file that consists of texts.

    together   is written too if any of the values is
    languages  the languages that the file declares
    """

    source: Source
    values: Sequence[Value]
    together: Sequence[tuple[Span, str]] = ()
    languages: Sequence[Languages] = ()

    @property
    def units(self) -> list[Unit]:
        """All units to translate, in order."""
        return [unit for value in self.values for message in value.messages for unit in message.units]

    def rendered(self, translations: Sequence[Words]) -> bytes:
        """Returns the file with the translation of each text in its place."""
        edits: list[Edit] = []
        at = 0
        for messages, spans, write in checked(self.values):
            texts = []
            for message in messages:
                texts.append(message.translated(translations[at : at + len(message.units)]))
                at += len(message.units)
            usable = [text for text in texts if text is not None]
            if len(usable) == len(messages) and any(
                text != message.text for text, message in zip(usable, messages, strict=True)
            ):
                edits += [Edit(*span, new) for span, new in zip(spans, write(usable), strict=True)]
        if edits:
            edits += [Edit(*span, new) for span, new in self.together]
        return self.source.edited(edits)
