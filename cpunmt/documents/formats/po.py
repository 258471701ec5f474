"""Catalogues of gettext (.po, .pot): fills empty translations, and marks them as fuzzy; everything else stays.

As in the GNU gettext manual, "The Format of PO Files". An entry is: flags (`#,`), a context, `msgid`, `msgid_plural`,
and `msgstr` or one `msgstr[n]` for each plural form of the language.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from gettext import c2py
from typing import NamedTuple

from cpunmt.documents.document import Source, Span, broken
from cpunmt.documents.formats.placeholders import BRACES, PERCENT, Message, Value, Values, without_accelerator
from cpunmt.process.stopping import checked
from cpunmt.registry.store import Languages

_STRING = r'"(?:[^"\\\r\n]|\\[^\r\n])*"'
_LINE = re.compile(
    rf"[ \t]*(?:(?P<word>msgctxt|msgid_plural|msgid|msgstr(?:\[[ \t]*(?P<form>\d{{1,3}})[ \t]*\])?|(?=\"))[ \t]*"
    rf"(?P<string>{_STRING})[ \t]*(?=[\r\n]|$)|(?P<comment>#[^\r\n]*)|(?P<blank>)(?=[\r\n]|$))(?P<end>\r\n|\r|\n|$)"
)
_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|(.))")
_NAMED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPED = {character: f"\\{name}" for name, character in _NAMED.items()} | {'"': '\\"', "\\": "\\\\"}
_MUST = re.compile(r'["\\\x00-\x1f\x7f]')
_CHARSET = re.compile(r"(Content-Type:[^\n]{0,200}?charset=)([^\s;\\]*)", re.I)
_PLURAL = re.compile(r"Plural-Forms:[^\n]{0,200}?plural=([^\n;]{1,1000})", re.I)
_LANGUAGE = re.compile(r"^Language:[ \t]*([^\s.@]+)", re.I | re.M)  # without the rest of a locale, as in sr@latin
_NUMBERS = 200  # numbers examined to find the use of each plural form
_ASCII = frozenset(["CHARSET", "ASCII", "US-ASCII", "ANSI_X3.4-1968"])
_NUMBERED = frozenset(
    ["c-format", "objc-format", "php-format", "java-printf-format", "kde-format", "gcc-internal-format"]
)
_BRACED = frozenset(["python-brace-format", "perl-brace-format", "csharp-format", "java-format", "rust-format"])
_WIDTH = 79
_CUT = re.compile(r"[^\n]*\n|[^\n]+")
_EXPECTED = 'expected comments, and entries of msgid "..." and msgstr "..."'
_WORDS = re.compile(r"\\n|[^ ]+? *(?=\\n$)|[^ ]* +|[^ ]+")


class _String(NamedTuple):
    """span: of the text behind the key word, over all its lines, without white space at its ends."""

    span: Span
    text: str
    form: int
    is_parted: bool


class _Entry:
    """An entry that is not obsolete."""

    def __init__(self) -> None:
        self.flags: set[str] = set()
        self.flags_at = -1  # behind the `#,`
        self.begin = -1  # of the first line that is not a comment of translators or programs
        self.context = False
        self.id: _String | None = None
        self.plural: _String | None = None
        self.strings: list[_String] = []


def read_po(source: Source) -> Values:
    """Reads a value for each empty `msgstr` outside the header.

    Raises DocumentError if it is not a catalogue, or its header names another charset than UTF-8.
    """
    reader = _Reader(source.text)
    values: list[Value] = []
    singular = _Singular(0, True)
    together: list[tuple[Span, str]] = []
    languages: list[Languages] = []
    for entry in checked(reader.entries):
        assert entry.id is not None
        if entry.id.text or entry.context:
            values += _values(entry, singular, source.line_end)
            continue
        header = "".join(one.text for one in entry.strings)
        singular = _singular(header)
        if declared := _LANGUAGE.search(header):
            languages.append(Languages(target=declared[1]))
        if found := _CHARSET.search(header):
            charset = found[2].upper()
            if charset in _ASCII:
                together += _in_utf8(source.text, entry.strings)
            elif charset not in ("UTF-8", "UTF8", ""):
                raise broken(
                    source.text,
                    entry.begin,
                    f"the header says charset={found[2]}, expected UTF-8; use msgconv -t UTF-8",
                )
    return Values(source, values, together, languages)


class _Singular(NamedTuple):
    """The plural form of the number 1, and whether all other numbers, except perhaps 0, have other forms."""

    form: int
    is_alone: bool


def _singular(header: str) -> _Singular:
    """Finds the form of 1 by the header; without a header, as in English."""
    if found := _PLURAL.search(header):
        try:
            form_of = c2py(found[1])
            form = form_of(1)
            return _Singular(form, all(form_of(number) != form for number in range(2, _NUMBERS)))
        except (ValueError, ArithmeticError, RecursionError):
            pass
    return _Singular(0, True)


def _values(entry: _Entry, singular: _Singular, line_end: str) -> list[Value]:
    """Makes the values of an entry's empty translations."""
    known = ""
    if "no-c-format" not in entry.flags and any(flag.endswith("-format") for flag in entry.flags):
        known = BRACES if entry.flags & _BRACED else PERCENT

    def message_of(told: _String) -> Message:
        return Message(without_accelerator(told.text), known, bool(entry.flags & _NUMBERED))

    assert entry.id is not None
    one = message_of(entry.id)
    several = message_of(entry.plural) if entry.plural else one
    has_singular = len(entry.strings) > 1 and (singular.is_alone or one.placeholders == several.placeholders)
    messages, spans, parted = [], [], []
    for string in entry.strings:
        if not string.text:
            is_plural = entry.plural is not None and not (has_singular and string.form == singular.form)
            messages.append(several if is_plural else one)
            spans.append(string.span)
            parted.append((entry.plural if entry.plural and is_plural else entry.id).is_parted)
    if not any(message.units for message in messages):
        return []
    flags = []
    if "fuzzy" not in entry.flags:
        at = entry.begin if entry.flags_at < 0 else entry.flags_at
        spans = [(at, at), *spans]
        flags = [f"#, fuzzy{line_end}" if entry.flags_at < 0 else " fuzzy,"]

    def write(texts: Sequence[str]) -> list[str]:
        return flags + [_quoted(text, is_parted, line_end) for text, is_parted in zip(texts, parted, strict=True)]

    return [Value(messages, spans, write)]


def _in_utf8(text: str, strings: Sequence[_String]) -> list[tuple[Span, str]]:
    """Returns edits for a header whose charset is ASCII."""
    found = [match for string in strings if (match := _CHARSET.search(text, *string.span))]
    return [(match.span(2), "UTF-8") for match in found]


class _Reader:
    """A reader of a catalogue's entries."""

    def __init__(self, text: str) -> None:
        self.entries: list[_Entry] = []
        self._text = text
        self._entry = _Entry()
        self._strings: list[str] = []  # strings of the open key word
        self._word = ""
        self._form = 0
        self._span = (0, 0)
        at = 0
        while at < len(text):
            line = _LINE.match(text, at)
            if line is None:
                raise broken(text, at, "cannot be read as a line of a catalogue; " + _EXPECTED)
            if line["string"] is None:
                self._close()
                if line["comment"]:
                    self._comment(line)
            elif line["word"]:
                self._open(line)
            elif not self._word:
                raise broken(text, at, "a string without msgid or msgstr before it; " + _EXPECTED)
            else:
                self._strings.append(line["string"])
                self._span = self._span[0], line.end("string")
            at = line.end()
        self._close()
        self._end()

    def _comment(self, line: re.Match[str]) -> None:
        comment = line["comment"]
        if self._entry.strings or comment.startswith("#~"):
            self._end()
        if comment.startswith("#,"):
            self._entry.flags |= {flag.strip() for flag in comment[2:].split(",")}
            if self._entry.flags_at < 0 and comment[2:].strip():
                self._entry.flags_at = line.start("comment") + 2
        elif comment.startswith("#|"):
            self._begins(line.start())

    def _begins(self, at: int) -> None:
        if self._entry.begin < 0:
            self._entry.begin = at

    def _open(self, line: re.Match[str]) -> None:
        self._close()
        word = line["word"]
        if self._entry.strings and not word.startswith("msgstr"):
            self._end()
        entry = self._entry
        expected = {
            "msgctxt": entry.id is None and not entry.context,
            "msgid": entry.id is None,
            "msgid_plural": entry.id is not None and entry.plural is None and not entry.strings,
        }
        if not expected.get(word, entry.id is not None):
            raise broken(self._text, line.start("word"), f"{word} stands where it cannot; {_EXPECTED}")
        self._begins(line.start())
        self._word, self._form = word, int(line["form"] or 0)
        self._strings = [line["string"]]
        self._span = line.span("string")

    def _close(self) -> None:
        """Ends the strings of a key word."""
        if not self._word:
            return
        text = "".join(string[1:-1] for string in self._strings)
        word, self._word = self._word, ""
        found = _String(self._span, _read(text), self._form, len(self._strings) > 1)
        if word == "msgctxt":
            self._entry.context = True
        elif word == "msgid":
            self._entry.id = found
        elif word == "msgid_plural":
            self._entry.plural = found
        else:
            self._entry.strings.append(found)

    def _end(self) -> None:
        """Ends the current entry, if there is one."""
        entry = self._entry
        if entry.id is None and not entry.context:
            if entry.begin >= 0 or entry.flags:
                self._entry = _Entry()
            return
        if entry.id is None or not entry.strings:
            raise broken(self._text, entry.begin, f"an entry without {'msgstr' if entry.id else 'msgid'}; {_EXPECTED}")
        self.entries.append(entry)
        self._entry = _Entry()


def _read(text: str) -> str:
    """Decodes the text between quotes."""
    if "\\" not in text:
        return text

    def one(found: re.Match[str]) -> str:
        if found[3] is None:
            return chr(int(found[1], 8) if found[1] else int(found[2], 16))
        return _NAMED.get(found[3], found[3])

    return _ESCAPE.sub(one, text)


def _quoted(text: str, is_parted: bool, line_end: str) -> str:
    """Writes a text as strings: on one line, or as gettext does, on lines of its own that end at spaces."""
    lines = [
        _MUST.sub(lambda found: _ESCAPED.get(found[0]) or f"\\{ord(found[0]):03o}", line) for line in _CUT.findall(text)
    ]
    if len(lines) < 2 and not is_parted and len(text) < _WIDTH:
        return f'"{"".join(lines)}"'
    found = ['""']
    for line in lines:
        part = ""
        for word in _WORDS.findall(line):
            if part and len(part) + len(word.rstrip(" ")) > _WIDTH - 2 and word != "\\n":
                found.append(f'"{part}"')
                part = ""
            part += word
        found.append(f'"{part}"')
    return line_end.join(found)
