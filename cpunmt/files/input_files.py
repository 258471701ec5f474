"""Reads files that may be missing, broken or hostile: each failure is one ModelFileError with the path.

The standard library parses JSON; this module refuses what it allows: a repeated key and NaN.
"""

import hashlib
import json
import mmap  # noqa: F401  NumPy would import it when it maps a file: late, and not under the lock of first use
import os
import stat
from pathlib import Path
from typing import BinaryIO

import numpy as np

from cpunmt.errors import ModelFileError

_BLOCK = 1 << 20
# kinds of files that belong to the user, not to a model
_TEXTS = ("calibration text", "sentence pairs", "test set", "text", "text of --activations")


def read_bytes(path, kind, limit):
    """Returns the content of the regular file `path`, at least one byte.

    Parameters
    ----------
    path : str or path-like
    kind : str
        The expected content, for the message: "vocabulary".
    limit : int
        Bytes; a larger file is refused before anything is read.

    Raises
    ------
    ModelFileError
        The file is missing, unreadable, empty, too large, or not a regular file (a pipe would block).
    """
    size = _checked_size(path, kind, limit)
    try:
        with open(path, "rb") as file:
            content = file.read(size + 1)  # the file may have grown since it was measured
    except OSError as error:
        raise ModelFileError(f"{path}: cannot read the {kind}: {error.strerror}") from None
    if len(content) != size:
        raise ModelFileError(f"{path}: {kind} changed while it was read; try again")
    return content


def map_bytes(path, kind, limit):
    """Returns the regular file `path` as a read-only (size,) uint8 memory map; arguments and errors as of
    `read_bytes`."""
    _checked_size(path, kind, limit)
    try:
        return np.memmap(path, np.uint8, mode="r")
    except (OSError, ValueError) as error:  # ValueError: emptied since it was measured
        raise ModelFileError(f"{path}: cannot map the {kind}: {error}") from None


def _checked_size(path, kind, limit):
    """Returns the size in bytes of the regular file `path`."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        again = "" if kind in _TEXTS else ", or fetch or pack the model again"
        raise ModelFileError(f"{path}: {kind} not found; check the path{again}") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise ModelFileError(f"{path}: cannot read the {kind}: {error}") from None
    if not stat.S_ISREG(status.st_mode):
        raise ModelFileError(f"{path}: {kind} is not a regular file; expected a file, not a directory, pipe or device")
    if status.st_size == 0:
        advice = "expected text, one sentence a line" if kind in _TEXTS else "fetch or pack the model again"
        raise ModelFileError(f"{path}: {kind} is empty; {advice}")
    if status.st_size > limit:
        raise ModelFileError(f"{path}: {kind} has {status.st_size} bytes, expected at most {limit}; wrong file?")
    return status.st_size


def digest_of(file: BinaryIO, digest=None) -> str:
    """Returns the hexadecimal SHA-256, or another `digest` of hashlib, of the rest of `file`."""
    digest = digest or hashlib.sha256()
    while block := file.read(_BLOCK):
        digest.update(block)
    return digest.hexdigest()


def describe(path: str | os.PathLike) -> dict:
    """Returns the size and SHA-256 of a file, as in a metadata.json. Raises OSError."""
    with open(path, "rb") as file:
        digest = digest_of(file)
        return {"size": file.tell(), "sha256": digest}


def read_json(path, kind, limit=16 << 20):
    """Returns the JSON object in the file `path` as a dict; errors as in `read_bytes` and `parse_json`."""
    return parse_json(read_bytes(path, kind, limit), f"{Path(path)}: {kind}")


def parse_json(content, where):
    """Returns the JSON object in the UTF-8 bytes `content` as a dict.

    Stricter than `json.loads`: a repeated key, NaN, infinity and anything but an object are refused, each
    with a ModelFileError that starts with `where`.
    """

    def unique(pairs):
        fields = dict(pairs)
        if len(fields) < len(pairs):
            seen = set()
            twice = next(key for key, _ in pairs if key in seen or seen.add(key))
            raise ModelFileError(f"{where}: key {twice!r} occurs twice; the file is broken, fetch or pack it again")
        return fields

    def finite(constant):
        raise ValueError(f"{constant} is not JSON")

    try:
        fields = json.loads(content.decode("utf-8"), object_pairs_hook=unique, parse_constant=finite)
    except (ValueError, RecursionError) as error:  # not UTF-8, not JSON, an integer of 5000 digits; too deep
        raise ModelFileError(f"{where}: not valid JSON ({error}); fetch or pack it again") from None
    if not isinstance(fields, dict):
        raise ModelFileError(f"{where}: is a JSON {type(fields).__name__}, expected an object {{...}}")
    return fields
