"""JSON (RFC 8259): translates texts among its values, never its keys. Everything else stays, including white space."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence

from cpunmt.documents.document import DocumentError, Source, broken
from cpunmt.documents.formats.paths import Key, Paths, States
from cpunmt.documents.formats.placeholders import Message, Value, Values, single
from cpunmt.process.stopping import checked

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]', re.S)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.S)
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\b": "\\b", "\f": "\\f", '"': '\\"', "\\": "\\\\"}
_MUST = re.compile(r'["\\\x00-\x1f\x7f\u2028\u2029\ud800-\udfff]')
_SURROGATE = re.compile("[\ud800-\udfff]")
_DEEPEST = 500  # nested arrays and objects


def read_json(source: Source, select: Sequence[str] = ()) -> Values:
    """Reads each text that has letters and matches the paths `select`; a path to an object selects all texts in it.

    Raises DocumentError if the content is not JSON, and for a path without a match.
    """
    text = source.text
    _check(text)
    paths = Paths(select)
    escaped = escaping(text)

    def write(translation: str) -> str:
        return f'"{escaped(translation)}"'

    values: list[Value] = []
    keys: list[Key] = []  # keys of open objects and arrays
    states: list[States] = [paths.root]
    key = ""
    is_key = False
    for token in checked(_TOKEN.finditer(text)):
        sign = text[token.start()]
        if sign == '"':
            if is_key:
                key = json.loads(token[0])
            else:
                below = paths.below(states[-1], keys[-1]) if keys else paths.root
                if paths.chosen(below):
                    values += _values(token, write)
        elif sign == ":":
            keys[-1], is_key = key, False
        elif sign == ",":
            last = keys[-1]
            if isinstance(last, int):
                keys[-1] = last + 1
            else:
                is_key = True
        elif sign in "{[":
            states.append(paths.below(states[-1], keys[-1]) if keys else paths.root)
            is_key = sign == "{"
            keys.append("" if is_key else 0)
            if len(keys) > _DEEPEST:
                raise _too_deep(text, token.start())
        else:
            states.pop()
            keys.pop()
            is_key = False
    paths.check()
    return Values(source, values)


def _values(token: re.Match[str], write: Callable[[str], str]) -> list[Value]:
    content: str = json.loads(token[0]) if "\\" in token[0] else token[0][1:-1]
    if _SURROGATE.search(content):  # half of a pair: not text
        return []
    message = Message(content)
    return [single(message, token.span(), write)] if message.units else []


def _check(text: str) -> None:
    try:
        json.loads(text, object_pairs_hook=lambda pairs: None, parse_int=str, parse_float=str)
    except json.JSONDecodeError as error:
        raise DocumentError(f"line {error.lineno}, column {error.colno}: is not JSON ({error.msg})") from None
    except RecursionError:
        raise _too_deep(text, 0) from None


def _too_deep(text: str, at: int) -> DocumentError:
    return broken(text, at, f"more than {_DEEPEST} arrays and objects within each other")


def escaping(text: str) -> Callable[[str], str]:
    """Returns a function that writes a text within double quotes, with the escapes that the file `text` uses.

    Everything beyond ASCII is escaped if the file always does so, and an ASCII sign, such as `/` or `<`, if the file
    escapes it anywhere.
    """
    seen = {(found[1] or found[2]).lower() for found in _ESCAPE.finditer(text)} if "\\" in text else set()
    codes = {int(one, 16) for one in seen if len(one) == 4}
    only_ascii = text.isascii() and any(code > 0x7F for code in codes)
    signs = {chr(code): f"\\u{code:04x}" for code in codes if 0x20 <= code < 0x80 and chr(code) not in '"\\'}
    if "/" in seen:
        signs["/"] = "\\/"

    def one(found: re.Match[str]) -> str:
        character = found[0]
        short = signs.get(character) or _SHORT.get(character)
        if short:
            return short
        if character.isascii() and character >= " " and character != "\x7f":
            return character
        if not only_ascii and not _MUST.match(character):
            return character
        units = character.encode("utf-16-be", "surrogatepass")
        return "".join(f"\\u{units[at] << 8 | units[at + 1]:04x}" for at in range(0, len(units), 2))

    wanted = "".join(map(re.escape, signs))
    pattern = re.compile(f'[{wanted}\\x7f-\\U0010ffff"\\\\\\x00-\\x1f]')

    return lambda words: pattern.sub(one, words)
