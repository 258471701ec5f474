"""The sidecar of each part, which records its origin, so that an existing part is not made again."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
from typing import Any

from cpunmt.errors import CpunmtError
from cpunmt.files.input_files import digest_of, read_json
from cpunmt.files.output_files import write_durably

FORMAT = 1
_SIZE = 32  # bytes
_MOST = 1 << 20


def sidecar_of(part: str) -> str:
    """Returns the sidecar's name: readers of directories of Parquet skip names that begin with an underscore."""
    folder, name = os.path.split(part)
    return os.path.join(folder, f"_{name}.json")


def identity(model: str, options: dict[str, Any], job: dict[str, Any]) -> dict[str, Any]:
    """Returns the identity of a part apart from its rows: the model's digest, named options, and the job."""
    version = importlib.import_module("cpunmt").__version__  # by name: cpunmt imports this module
    return {"format": FORMAT, "cpunmt": version, "model": model, "options": options, "job": job}


def digest(content: bytes) -> str:
    """Returns the BLAKE2b of rows, or of a part; hexadecimal."""
    return hashlib.blake2b(content, digest_size=_SIZE).hexdigest()


def fitting(part: str, wanted: dict[str, Any], source: str) -> dict[str, Any] | None:
    """Returns a part's sidecar if it belongs to the rows with this digest, and describes the part's bytes."""
    found = _read(sidecar_of(part))
    if found is None or found.get("source") != source or any(found.get(name) != wanted[name] for name in wanted):
        return None
    if not all(isinstance(found.get(name), int) for name in ("rows", "words", "distinct", "bytes")):
        return None
    try:
        if os.path.getsize(part) != found["bytes"]:
            return None
        with open(part, "rb") as file:
            same = digest_of(file, hashlib.blake2b(digest_size=_SIZE)) == found.get("output")
    except OSError:
        return None
    return found if same else None


def is_ours(part: str) -> bool:
    """Returns whether this part has a sidecar, whatever its rows."""
    found = _read(sidecar_of(part))
    return found is not None and "format" in found and "source" in found


def write(part: str, told: dict[str, Any]) -> None:
    write_durably(sidecar_of(part), json.dumps(told, indent=1).encode() + b"\n")


def _read(path: str) -> dict[str, Any] | None:
    try:
        return read_json(path, "sidecar", _MOST)
    except CpunmtError:
        return None
