r"""Texts of programs as keys and values: Apple's .strings and Java's .properties. Keys and comments stay.

.strings     "key" = "value"; with comments of C ("Resource Programming Guide", String Resources)
.properties  key=value; a backslash at the end of a line continues the value (java.util.Properties). If the file has
             only ASCII, other characters are written as escapes (\u00e9), because older programs read Latin-1. In a
             value of MessageFormat, apostrophes are written twice: it has {0}, and no apostrophe stands alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from cpunmt.documents.document import Source, broken
from cpunmt.documents.formats.placeholders import BRACES, Message, Value, Values, single, with_whole_characters
from cpunmt.process.stopping import checked

_STRING = r'"(?:[^"\\]|\\.)*"'
_ENTRY = re.compile(
    rf"\s+|/\*.*?\*/|//[^\r\n]*"
    rf"|(?:{_STRING}|[\w.$/-]+)(?:\s*=\s*(?P<value>{_STRING}|[\w.$/-]+))?\s*;",
    re.S,
)
_APPLE = re.compile(r"\\(?:[Uu]([0-9a-fA-F]{4})|(.))", re.S)
_OCTAL = re.compile(r"(?<!\\)(?:\\\\)*\\[0-7]")  # in an old encoding: such values stay
_PROPERTY = re.compile(
    r"[ \t\f]*(?:[#!][^\r\n]*|(?P<key>(?:[^ \t\f\r\n:=\\]|\\(?:\r\n|.))*)"
    r"(?:(?:\\(?:\r\n|[\r\n]))|[ \t\f])*[:=]?(?P<value>(?:[^\r\n\\]|\\(?:\r\n|.))*))(?:\r\n|\r|\n|$)",
    re.S,
)
_JAVA = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(?:\r\n|[\r\n])[ \t\f]*|(.))", re.S)
_NAMED = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}
_WRITTEN = {character: f"\\{name}" for name, character in _NAMED.items()}
# Of MessageFormat: between apostrophes braces are text
_BRACES_AS_TEXT = r"'[{}]{1,9}'|(?<!\w)'[^'\n]{0,200}[{}][^'\n]{0,200}'(?!\w)"
_FORMAT = re.compile(rf"''|{_BRACES_AS_TEXT}|\{{\d{{1,3}}(?:,[^{{}}\n]{{0,200}})?\}}")


def read_strings(source: Source) -> Values:
    """Reads the values. Raises DocumentError, with the line, for text that is not an entry."""
    text, at, values = source.text, 0, list[Value]()
    while at < len(text):
        entry = _ENTRY.match(text, at)
        if entry is None:
            raise broken(text, at, 'cannot be read as an entry, expected "key" = "value"; or a comment')
        at = entry.end()
        if (entry["value"] or "").startswith('"') and not _OCTAL.search(entry["value"]):
            begin, end = entry.start("value") + 1, entry.end("value") - 1
            message = Message(_decoded(_APPLE, text[begin:end]), numbered=True)
            if message.units:
                values.append(single(message, (begin, end), _escaping(r'["\\\n\t\r\f]')))
    return Values(source, list(checked(values)))


def read_properties(source: Source) -> Values:
    """Reads the values."""
    text, values, at = source.text, list[Value](), 0
    write = _escaping(r"[\\\n\t\r\f]|^ " + (r"|[^\x00-\x7f]" if text.isascii() else ""))
    while at < len(text):
        found = _PROPERTY.match(text, at)
        if found is None:  # a backslash ends the file
            break
        at = found.end()
        if not found["value"]:
            continue
        begin = found.end("value") - len(found["value"].lstrip(" \t\f"))
        content = _decoded(_JAVA, text[begin : found.end("value")])
        message = _message(content)
        if message.units:
            values.append(single(message, (begin, found.end("value")), write))
    return Values(source, list(checked(values)))


def _message(content: str) -> Message:
    """Returns the message of a value of Java."""
    parts = _FORMAT.findall(content)
    if not any(part.startswith("{") for part in parts) or "'" in _FORMAT.sub("", content):
        return Message(content, BRACES)
    kept = re.compile(rf"{_BRACES_AS_TEXT}|{BRACES}|''")
    content = kept.sub(lambda found: "'" if found[0] == "''" else found[0], content)
    return Message(content, f"{_BRACES_AS_TEXT}|{BRACES}", written=lambda words: words.replace("'", "''"))


def _decoded(escapes: re.Pattern[str], text: str) -> str:
    """Returns a value without its backslashes."""
    if "\\" not in text:
        return text
    made = escapes.sub(
        lambda found: chr(int(found[1], 16)) if found[1] else _NAMED.get(found[2] or "", found[2] or ""), text
    )
    return with_whole_characters(made)


def _escaping(signs: str) -> Callable[[str], str]:
    """Returns a function that writes a value, with these signs behind backslashes, or in UTF-16 as numbers."""
    must = re.compile(signs)

    def one(found: re.Match[str]) -> str:
        character = found[0]
        if character.isascii():
            return _WRITTEN.get(character) or f"\\{character}"
        units = character.encode("utf-16-be")
        return "".join(f"\\u{units[at] << 8 | units[at + 1]:04x}" for at in range(0, len(units), 2))

    return lambda words: must.sub(one, words)
