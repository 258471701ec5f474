"""Files of lines, packed or not, cut into shards. Only a line feed ends a line; a line has a maximal length."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import BinaryIO

from cpunmt.corpora.inputs.rows import Shard
from cpunmt.errors import CpunmtError
from cpunmt.files.input_files import open_expanded

MOST_LINE = 1 << 20  # bytes of a line
MOST_SHARD = 64 << 20  # bytes after which a shard takes no further row, to limit memory


def line_shards(path: str, rows: int) -> Iterator[Shard]:
    """Yields the lines of a file in shards of `rows`, or of fewer lines once a shard has MOST_SHARD bytes.

    A file without lines is one empty shard. Raises CpunmtError for a file that cannot be read, is damaged, or has a
    line of more than MOST_LINE bytes.
    """
    lines: list[bytes] = []
    size, first, given = 0, 1, False
    for line in _lines(path):
        lines.append(line)
        size += len(line)
        if len(lines) == rows or size >= MOST_SHARD:
            yield Shard(b"".join(lines), first, len(lines))
            first, given = first + len(lines), True
            lines, size = [], 0
    if lines or not given:
        yield Shard(b"".join(lines), first, len(lines))


def count_lines(path: str) -> int:
    return sum(1 for _ in _lines(path))


def _lines(path: str) -> Iterator[bytes]:
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            raise CpunmtError(f"{path}: is not a regular file; expected one, since it is read more than once")
        if status.st_size == 0:
            return
        with open_expanded(path, "text", 1 << 62, float("inf")) as file:
            yield from _split(path, file)
    except OSError as error:
        raise CpunmtError(f"{path}: cannot read the text: {error.strerror or error}") from None


def _split(path: str, file: BinaryIO) -> Iterator[bytes]:
    number = 0
    while line := file.readline(MOST_LINE + 1):
        number += 1
        if len(line) > MOST_LINE and not line.endswith(b"\n"):
            raise CpunmtError(
                f"{path}: line {number} has more than {MOST_LINE} bytes, expected at most that; is it a text?"
            )
        yield line


def decoded(payload: bytes, where: str, first: int) -> list[str]:
    """Decodes the lines of a shard, without line feeds.

    Raises CpunmtError, which names the line, if it is not UTF-8. `where`: the file; `first`: the number of the first
    line.
    """
    try:
        text = payload.decode()
    except UnicodeDecodeError as error:
        number = first + payload.count(b"\n", 0, error.start)
        begin = payload.rfind(b"\n", 0, error.start) + 1
        raise CpunmtError(
            f"{where}: line {number} is not UTF-8: byte {error.start - begin + 1} of it is "
            f"0x{payload[error.start]:02x}; convert the file first, as with iconv"
        ) from None
    if not text:
        return []
    return text.removesuffix("\n").split("\n")
