r"""Reads untrusted tables of a vocabulary, piece -> id: JSON, Marian's YAML, or a line for each piece.

A JSON array has the pieces in the order of their ids, as CTranslate2 writes it.

Marian's `vocab.yml` is parsed here, one piece to a line: a YAML parser would convert `yes`, `null`, `1e3` and `~` to
other types, and takes seconds for a real vocabulary. Only a quote, and # for a comment, is special at the beginning of
a line. Accepted lines:

    piece: 17        "piece\u00e9": 17        'it''s': 17        ? piece
                                                                 : 17
"""

import itertools
import os
import re
import reprlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from cpunmt.errors import ModelFileError
from cpunmt.files.input_files import expanded, parse_json, parse_json_list, plain_name

UNNAMED = "madeupword{}"  # a row of the weights without a piece, as CTranslate2 calls it
_MAX_FILE = 16 << 20  # bytes; of 60,000 pieces less than two
_MAX_PIECE = 1024  # characters
_SPARE = 1000  # unused ids that a table may have, besides one for each piece
_MAPS = (".json", ".yml", ".yaml")
_MAX_LINE = 1 << 14
_TAG = re.compile(r"!(?:!str)? +")  # marks text
_QUOTED = re.compile(r"""\"(?P<double>(?:[^"\\]|\\.)*)"|'(?P<single>(?:[^']|'')*)'""", re.DOTALL)
_ID = re.compile(r"[ \t]*:[ \t]+(?:!!int )?[\"']?([0-9]{1,9})[\"']?[ \t]*")
_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.DOTALL)
_ESCAPES = {
    **dict(zip('0abtnvfre "/\\N_LP', '\0\a\b\t\n\v\f\r\x1b "/\\\x85\xa0\u2028\u2029', strict=True)),
    "\t": "\t",
}


def read_table(path: str | os.PathLike[str], repeats: bool = False) -> dict[str, int]:
    """Returns piece -> id. A file named neither .json nor .yml has one piece per line; the first has id 0.

    `repeats`: in a list a piece may come again, as in CTranslate2's of T5, whose rows without a piece are called as
    others are. The first one counts; the later ids get names that no text has, `madeupword0`.

    Raises
    ------
    ModelFileError
        The file is missing, over 16 MiB or damaged; a piece comes twice, or two have one id; an id is negative or
        far above the number of pieces.
    """
    where = f"{path}: vocabulary"
    table: dict[str, Any]
    content = expanded(path, "vocabulary", _MAX_FILE).tobytes()
    suffix = Path(plain_name(str(path))).suffix
    if suffix not in _MAPS:
        table = _listed(_lines(content, where), where, repeats)
    elif content.lstrip()[:1] == b"{":  # which is YAML too
        table = parse_json(content, where)
    elif suffix == ".json" and content.lstrip()[:1] == b"[":
        table = _listed(parse_json_list(content, where), where, repeats)
    else:
        table = _unique(_entries(content, where), where)
    _check(table, where)
    return table


def _listed(items: list[Any], where: str, repeats: bool) -> dict[str, Any]:
    if set(map(type, items)) - {str}:
        i, item = next((i, item) for i, item in enumerate(items) if not isinstance(item, str))
        raise ModelFileError(f"{where}: item {i} is {reprlib.repr(item)}, expected a piece in quotes")
    table = dict(zip(items, range(len(items)), strict=True))
    if len(table) == len(items):
        return table
    return _unique(zip(_renamed(items) if repeats else items, range(len(items)), strict=True), where)


def _renamed(items: list[str]) -> Iterator[str]:
    """Yields the pieces, with another name where one comes again."""
    seen = set(items)
    names, met = (name for i in itertools.count() if (name := UNNAMED.format(i)) not in seen), set[str]()
    for piece in items:
        yield next(names) if piece in met else piece
        met.add(piece)


def _lines(content: bytes, where: str) -> list[str]:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ModelFileError(f"{where}: not UTF-8 ({error}); fetch it again") from None
    # splitlines() would break a piece that holds one of Unicode's other line separators
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]


def _entries(content: bytes, where: str) -> Iterator[tuple[str, int]]:
    key = None
    for number, line in enumerate(_lines(content, where), 1):
        if key is None and (
            not line.strip() or line.startswith(("#", "%YAML", "%TAG")) or line.rstrip() in ("---", "...")
        ):
            continue
        if key is None and line.startswith("? "):
            key = line[2:].strip(" \t")
            continue
        if key is not None:
            line, key = key + line, None
        found = _entry(line, where, number) if len(line) <= _MAX_LINE else None
        if found is None:
            raise ModelFileError(
                f"{where}: line {number} is {line[:80]!r}, expected a piece and its id, 'piece: 17'; fetch it again"
            )
        yield found


def _entry(line: str, where: str, number: int) -> tuple[str, int] | None:
    """Returns (piece, id) of a line, or None."""
    tag = _TAG.match(line)
    line = line[tag.end() :] if tag else line
    quoted = _QUOTED.match(line)
    if quoted:
        single, rest = quoted["single"], line[quoted.end() :]
        key = _unescaped(quoted["double"], where, number) if single is None else single.replace("''", "'")
    else:
        key, colon, rest = line.rpartition(":")
        key, rest = key.rstrip(" \t"), colon + rest
        if not key or key[0] in "\"' \t":
            return None
    id_ = _ID.fullmatch(rest)
    return None if id_ is None else (key, int(id_[1]))


def _unescaped(text: str, where: str, number: int) -> str:
    def character(escape: re.Match[str]) -> str:
        code: str = escape[1]
        if code in _ESCAPES:
            return _ESCAPES[code]
        value = int(code[1:] or "ffffff", 16)
        if value > 0x10FFFF:
            raise ModelFileError(f"{where}: line {number} has the escape {escape[0]!r}, which is none; fetch it again")
        return chr(value)

    return _ESCAPE.sub(character, text)


def _unique(pairs: Iterable[tuple[str, int]], where: str) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for piece, id_ in pairs:
        if piece in table:
            raise ModelFileError(f"{where}: the piece {piece[:80]!r} occurs twice; fetch it again")
        table[piece] = id_
    return table


def _check(table: dict[str, Any], where: str) -> None:
    most, ids = 2 * len(table) + _SPARE, table.values()
    is_right = set(map(type, ids)) == {int} and 0 <= min(ids) <= max(ids) < most and max(map(len, table)) <= _MAX_PIECE
    for piece, id_ in () if is_right else table.items():  # a large vocabulary has 256,000
        if type(id_) is not int or not 0 <= id_ < most:
            raise ModelFileError(
                f"{where}: the piece {piece[:80]!r} has id {str(id_)[:80]}, expected a number from 0 to {most - 1}"
            )
        if len(piece) > _MAX_PIECE:
            raise ModelFileError(f"{where}: a piece has {len(piece)} characters, expected at most {_MAX_PIECE}")
    if len(set(ids)) < len(table):
        owners: dict[int, str] = {}
        twice = next((p, owners[i]) for p, i in table.items() if owners.setdefault(i, p) != p)
        raise ModelFileError(f"{where}: the pieces {twice[0][:80]!r} and {twice[1][:80]!r} have one id; fetch it again")
