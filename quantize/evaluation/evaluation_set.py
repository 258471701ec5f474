"""Sentences to judge a model by: a TSV file of source, TAB, reference, and further references if there are any."""

import gzip
import hashlib
import io
import re
import zlib
from pathlib import Path
from typing import NamedTuple

from cpunmt.errors import CpunmtError

MOST_BYTES = 1 << 28  # of a set, expanded
_GZIP = b"\x1f\x8b"
_NAME = re.compile(r"[\w.-]+")


class EvaluationSet(NamedTuple):
    """Source sentences and what they should become."""

    name: str
    path: str
    sha256: str  # of the file
    sources: list[str]
    references: list[list[str]]  # of each source one or more; the empty list: the file has sources only

    @property
    def words(self) -> int:
        """Of the sources, as white space separates them."""
        return sum(len(source.split()) for source in self.sources)


def named_set(text: str) -> tuple[str, str]:
    """(name, path) of a command line's FILE or NAME=FILE; a file's own name is that without .tsv and .gz.

    Raises ValueError for a name that a limit could not mention.
    """
    name, separator, path = text.partition("=")
    if not separator or "/" in name:
        path = text
        name = re.sub(r"(\.(tsv|txt))?(\.gz)?$", "", Path(text).name)
    if not _NAME.fullmatch(name) or not path:
        raise ValueError(f"{text!r}: give a name of letters, digits, '.', '_' and '-', and a file, as NAME=FILE")
    return name, path


def read_evaluation_set(name: str, path) -> EvaluationSet:
    """Read a file, gzipped or not.

    Raises CpunmtError: it cannot be read, is not UTF-8, or a line lacks its source, or its reference where others
    have one.
    """
    content = _read(path)
    digest = hashlib.sha256(content).hexdigest()
    lines = _text(_expanded(content, path), path).removesuffix("\n").split("\n")
    rows = [[cell.strip() for cell in line.removesuffix("\r").split("\t")] for line in lines]
    references = [[cell for cell in row[1:] if cell] for row in rows]
    without = [number for number, found in enumerate(references, 1) if not found]
    for number, row in enumerate(rows, 1):
        if not row[0]:
            raise CpunmtError(f"{path}, line {number}: no source; expected source, TAB, reference(s)")
    if without and len(without) < len(rows):
        raise CpunmtError(
            f"{path}, line {without[0]}: no reference, but other lines have one; expected source, TAB, reference(s)"
        )
    return EvaluationSet(name, str(path), digest, [row[0] for row in rows], [] if without else references)


def _read(path):
    try:
        with open(path, "rb") as file:
            content = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise CpunmtError(f"{path}: cannot read the test set: {getattr(error, 'strerror', error)}") from None
    if not content:
        raise CpunmtError(f"{path}: the test set is empty; expected lines of source, TAB, reference(s)")
    return _limited(content, path)


def _expanded(content, path):
    if not content.startswith(_GZIP):
        return content
    try:
        with gzip.open(io.BytesIO(content)) as file:
            whole = file.read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise CpunmtError(f"{path}: not a complete gzip file ({error}); fetch it again") from None
    return _limited(whole, path)


def _limited(content, path):
    if len(content) > MOST_BYTES:
        raise CpunmtError(f"{path}: more than {MOST_BYTES >> 20} MiB of text, expected a test set; wrong file?")
    return content


def _text(content, path):
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise CpunmtError(f"{path}, line {line}: not UTF-8; convert the file") from None
