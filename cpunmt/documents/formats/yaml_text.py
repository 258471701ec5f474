"""YAML (1.1, as PyYAML reads it): translates texts among its values, never its keys.

Keys, anchors, aliases, tags and comments stay, and so do values that are not texts: numbers, dates, true, null, and
everything under a tag of its own. The file is only read as events, so aliases are not expanded and objects are not
constructed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import yaml

from cpunmt.documents.document import DocumentError, Source, broken
from cpunmt.documents.formats.paths import Key, Paths, States
from cpunmt.documents.formats.placeholders import Message, Value, Values, single
from cpunmt.process.stopping import checked

_BREAKS = "\n\x85\u2028\u2029"
_DEEPEST = 100  # nested collections: PyYAML takes long for more
_PROPERTIES = re.compile(r"(?:[&!]\S*\s+(?:#[^\n]*\n\s*)*)*")
_ESCAPED = re.compile(r"\\(?:u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|x[89a-fA-F])")
_UNPRINTABLE = re.compile("[^\t\n\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_NOT_PLAIN = re.compile(r"[-?:,\[\]{}#&*!|>'\"%@`\s=]|\.\.\.|.*(?::(?:\s|$)|\s#|[^ \S]|\s$)", re.S)
_OF_FLOW = re.compile(r"[,\[\]{}:?]")
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_LINE = re.compile(r"([^\r\n\x85\u2028\u2029]*)(\r\n|[\r\n\x85\u2028\u2029]|$)")
_FOLDS = re.compile(r"(?<=\S) (?=\S)")
_STANDARD = "tag:yaml.org,2002:"
_TEXT = f"{_STANDARD}str"
_SURROGATE = re.compile("[\ud800-\udfff]")
_RESOLVER = yaml.SafeLoader("")


def read_yaml(source: Source, select: Sequence[str] = ()) -> Values:
    """Reads each text that has letters and matches the paths `select`; a path to a mapping selects all texts in it.

    Raises DocumentError if the content is not YAML, and for a path without a match.
    """
    paths = Paths(select)
    writer = _Writer(source)
    values: list[Value] = []
    for event, states, in_flow in _scalars(source.text, paths):
        if paths.chosen(states) and _is_text(event):
            message = Message(event.value)
            if message.units:
                values.append(writer.value(message, event, in_flow))
    paths.check()
    return Values(source, values)


def _is_text(event: yaml.ScalarEvent) -> bool:
    if _SURROGATE.search(event.value):  # half of a character
        return False
    if event.tag not in (None, "!", _TEXT):
        return False
    return event.style is not None or event.tag == _TEXT or _resolved(event.value) == _TEXT


def _is_own(tag: str | None) -> bool:
    """Returns whether the tag of a collection is not one of YAML itself."""
    return tag not in (None, "!") and not str(tag).startswith(_STANDARD)


def _resolved(value: str) -> str:
    """Returns the tag that YAML resolves for a text without quotes."""
    return str(_RESOLVER.resolve(yaml.ScalarNode, value, (True, False)))


class _Open:
    """An open collection.

    key      of the next value, None before a key
    in_flow  whether it is within brackets
    stays    whether it is a key, has a tag of its own, or is within such a collection
    """

    def __init__(self, states: States, key: Key | None, in_flow: bool, stays: bool) -> None:
        self.states, self.key, self.in_flow, self.stays = states, key, in_flow, stays


def _scalars(text: str, paths: Paths) -> Iterator[tuple[yaml.ScalarEvent, States, bool]]:
    """Yields each translatable scalar, its states, and whether it is within brackets.

    Skips keys, all scalars within a key, and all within a collection with a tag of its own.
    """
    opened: list[_Open] = []
    for event in checked(_events(text)):
        if isinstance(event, yaml.CollectionEndEvent):
            opened.pop()
            continue
        if not isinstance(event, yaml.NodeEvent):
            continue
        last = opened[-1] if opened else None
        states, stays = paths.root, False
        if last is not None:
            stays = last.stays or last.key is None
            states = last.states if last.key is None else paths.below(last.states, last.key)
            if isinstance(last.key, int):
                last.key += 1
            elif last.key is not None:
                last.key = None
            else:
                last.key = event.value if isinstance(event, yaml.ScalarEvent) else ""
        in_flow = last is not None and last.in_flow
        if isinstance(event, yaml.CollectionStartEvent):
            if len(opened) == _DEEPEST:
                raise broken(text, event.start_mark.index, f"more than {_DEEPEST} collections within each other")
            is_list = isinstance(event, yaml.SequenceStartEvent)
            opened.append(
                _Open(states, 0 if is_list else None, in_flow or bool(event.flow_style), stays or _is_own(event.tag))
            )
        elif isinstance(event, yaml.ScalarEvent) and not stays:
            yield event, states, in_flow


def _events(text: str) -> Iterator[yaml.Event]:
    try:
        yield from yaml.parse(text, yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}: " if mark else ""
        raise DocumentError(f"{where}is not YAML ({error.problem or error.context})") from None
    except yaml.reader.ReaderError as error:
        raise broken(text, error.position, f"is not YAML (has the character U+{error.character:04X})") from None
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        raise DocumentError(f"is not YAML ({' '.join(str(error).split())})") from None


class _Writer:
    """A writer of texts in their original style, or in double quotes if that style cannot express them."""

    def __init__(self, source: Source) -> None:
        self._text = source.text
        self._line_end = source.line_end
        self._only_ascii = source.text.isascii() and _ESCAPED.search(source.text) is not None

    def value(self, message: Message, event: yaml.ScalarEvent, in_flow: bool) -> Value:
        """Returns the text of a scalar."""
        begin, end = event.start_mark.index, event.end_mark.index
        if event.anchor or event.tag:
            begin = _PROPERTIES.match(self._text, begin).end()  # type: ignore[union-attr]  # it may be empty
        if event.style in ("|", ">"):
            return self._block(message, begin, end)
        style = event.style

        def write(text: str) -> str:
            if style is None and _is_plain(text, in_flow):
                return text
            if style == "'" and not _UNPRINTABLE.search(text) and not any(sign in text for sign in _BREAKS):
                return f"'{text}'".replace("'", "''")[1:-1]
            return self._quoted(text)

        return single(message, (begin, end), write)

    def _quoted(self, text: str) -> str:
        def one(found: re.Match[str]) -> str:
            character = found[0]
            if character in _SHORT:
                return _SHORT[character]
            code = ord(character)
            if not self._only_ascii and code > 0x7F and character not in _BREAKS and not _UNPRINTABLE.match(character):
                return character
            return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"

        return '"' + re.sub(r'["\\]|[^ -~]', one, text) + '"'

    def _block(self, message: Message, begin: int, end: int) -> Value:
        """Returns the value of a block scalar: its sign, and its lines up to the last that is not blank."""
        text = self._text
        head = _LINE.match(text, begin)
        assert head is not None
        first = head.end()
        lines = [found for found in _LINE.finditer(text, first, end) if found[0]]
        number = next(number for number, line in enumerate(lines) if line[1].strip(" "))
        line = lines[number][1]
        indent = _spaces(line) - _spaces(re.split(f"[{_BREAKS}]", message.text)[number])
        last = next(line.end(1) for line in reversed(lines) if len(line[1]) > indent)
        width = max(len(line[1]) for line in lines)
        margin = line[:indent]

        def write(texts: Sequence[str]) -> list[str]:
            words = _UNPRINTABLE.sub("", texts[0]).rstrip(_BREAKS)
            sign = text[begin]
            if sign == ">" and re.search(rf"(?:^|\n)[ \t]|[{_BREAKS[1:]}]|[ \t]$", words):
                sign = "|"
            if sign == "|":
                written = re.sub(rf"(?:^|(?<=[{_BREAKS}]))(?=[^{_BREAKS}])", margin, words)
            else:
                paragraphs = re.sub("(?<=[^\n])\n+", lambda found: found[0] + "\n", words).split("\n")
                written = "\n".join(_folded(paragraph, margin, width) for paragraph in paragraphs)
            return [sign, written.replace("\n", self._line_end)]

        return Value([message], [(begin, begin + 1), (first, last)], write)


def _folded(words: str, margin: str, width: int) -> str:
    lines: list[str] = []
    for word in _FOLDS.split(words) if words else ():
        if lines and len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(margin + word)
    return "\n".join(lines)


def _spaces(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _is_plain(text: str, in_flow: bool) -> bool:
    """Returns whether a text would still be read as a text without quotes."""
    if not text or _NOT_PLAIN.match(text) or _UNPRINTABLE.search(text) or text.lower() in ("y", "n"):
        return False
    return not (in_flow and _OF_FLOW.search(text)) and _resolved(text) == _TEXT
