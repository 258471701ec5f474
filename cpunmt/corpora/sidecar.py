"""The file beside each part, which tells what it was made of: whoever finds it need not make the part again."""

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
    """Its name: readers of whole directories of Parquet pass over what begins with an underscore."""
    folder, name = os.path.split(part)
    return os.path.join(folder, f"_{name}.json")


def identity(model: str, options: dict[str, Any], job: dict[str, Any]) -> dict[str, Any]:
    """What a part depends on, apart from its rows: the model's digest, named options, and what is made of them."""
    version = importlib.import_module("cpunmt").__version__  # by name: it offers what is built on this module
    return {"format": FORMAT, "cpunmt": version, "model": model, "options": options, "job": job}


def digest(content: bytes) -> str:
    """Returns the BLAKE2b of rows, or of a part; hexadecimal."""
    return hashlib.blake2b(content, digest_size=_SIZE).hexdigest()


def fitting(part: str, wanted: dict[str, Any], source: str) -> dict[str, Any] | None:
    """What the sidecar of a part says, if that is the part of the rows with this digest, and its bytes are there."""
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
    """Returns whether this part has a sidecar, of whatever rows."""
    found = _read(sidecar_of(part))
    return found is not None and "format" in found and "source" in found


def write(part: str, told: dict[str, Any]) -> None:
    write_durably(sidecar_of(part), json.dumps(told, indent=1).encode() + b"\n")


def _read(path: str) -> dict[str, Any] | None:
    try:
        return read_json(path, "sidecar", _MOST)
    except CpunmtError:
        return None
