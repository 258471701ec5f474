"""Evaluation sets: TSV files of source, TAB, reference, and optional further references."""

import hashlib
import re
from pathlib import Path
from typing import Any, NamedTuple

from cpunmt.errors import CpunmtError
from cpunmt.files.input_files import expanded, map_bytes

MOST_BYTES = 1 << 28  # of a set, expanded
_NAME = re.compile(r"[\w.-]+")


class EvaluationSet(NamedTuple):
    """Source sentences and their references."""

    name: str
    path: str
    sha256: str  # of the file
    sources: list[str]
    references: list[list[str]]  # of each source one or more; an empty list if the file has sources only

    @property
    def words(self) -> int:
        """Returns the number of words of the sources, separated by white space."""
        return sum(len(source.split()) for source in self.sources)


def named_set(text: str) -> tuple[str, str]:
    """Returns (name, path) of a command line's FILE or NAME=FILE; a file's own name is without .tsv, .gz and .zst.

    Raises ValueError for a name that a limit could not mention.
    """
    name, separator, path = text.partition("=")
    if not separator or "/" in name:
        path = text
        name = re.sub(r"(\.(tsv|txt))?(\.(gz|zst))?$", "", Path(text).name)
    if not _NAME.fullmatch(name) or not path:
        raise ValueError(f"{text!r}: give a name of letters, digits, '.', '_' and '-', and a file, as NAME=FILE")
    return name, path


def read_evaluation_set(name: str, path: Any) -> EvaluationSet:
    """Reads a file, plain or packed with gzip or zstd.

    Raises CpunmtError if it cannot be read or is not UTF-8. A line must have a source, and either all or no lines a
    reference.
    """
    digest = hashlib.sha256(map_bytes(path, "test set", MOST_BYTES).data).hexdigest()
    lines = _text(expanded(path, "test set", MOST_BYTES).tobytes(), path).removesuffix("\n").split("\n")
    rows = [[field.strip() for field in line.removesuffix("\r").split("\t")] for line in lines]
    references = [[field for field in row[1:] if field] for row in rows]
    without = [number for number, found in enumerate(references, 1) if not found]
    for number, row in enumerate(rows, 1):
        if not row[0]:
            raise CpunmtError(f"{path}, line {number}: no source; expected source, TAB, reference(s)")
    if without and len(without) < len(rows):
        raise CpunmtError(
            f"{path}, line {without[0]}: no reference, but other lines have one; expected source, TAB, reference(s)"
        )
    return EvaluationSet(name, str(path), digest, [row[0] for row in rows], [] if without else references)


def _text(content: Any, path: Any) -> Any:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise CpunmtError(f"{path}, line {line}: not UTF-8; convert the file") from None
