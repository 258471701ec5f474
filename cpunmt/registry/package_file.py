"""Unpacks an .argosmodel file once: into the folder `files` of the user's models, by the SHA-256 of its content.

A folder appears there complete. It is made beside its place, and removed from there after a failure or an interrupt.
Nothing else refers to it, so that a user may delete it at any time.
"""

import os
import re
from pathlib import Path
from typing import Any

from cpunmt.errors import CpunmtError, ModelFileError
from cpunmt.files.input_files import METADATA, digest_of, read_json
from cpunmt.files.output_files import remedy, scratch_directory
from cpunmt.formats.argos.argos_package import checked_metadata
from cpunmt.registry.archive import BrokenArchiveError, unpack_package

_LONGEST = 60  # characters of the file's name in the folder's
_DIGITS = 32  # of the digest


def unpacked(path: Path, models: Path) -> Path:
    """Returns the folder of the package in the file; `models` is the user's folder of models.

    Raises
    ------
    ModelFileError
        The file cannot be read, is not a zip archive of one package, or is unsafe to unpack.
    CpunmtError
        No room, no permission, or no home.
    """
    try:
        with open(path, "rb") as file:
            digest = digest_of(file)
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be read: {error.strerror}") from None
    stem = re.sub(r"[^A-Za-z0-9_-]", "_", path.stem)[:_LONGEST]
    target = models / "files" / f"{stem}={digest[:_DIGITS]}"
    if target.is_dir():
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with scratch_directory(target) as scratch:
            content = scratch / target.name
            content.mkdir()
            _fill(content, path)
            try:
                os.rename(content, target)
            except OSError:
                if not target.is_dir():  # another process was faster
                    raise
    except OSError as error:
        where = error.filename or target.parent
        raise CpunmtError(
            f"{where}: {error.strerror or error}, needed to unpack {path}; {remedy(error)}, set CPUNMT_MODELS_DIR, or "
            "unpack it yourself and name its folder"
        ) from None
    return target


def _fill(folder: Path, path: Path) -> None:
    try:
        unpack_package(path, folder, str(path))
    except BrokenArchiveError as error:
        raise ModelFileError(str(error)) from None
    read_package(folder, str(path))


def read_package(folder: Path, where: str) -> dict[str, Any]:
    """Returns the content of metadata.json in an unpacked package.

    Raises ModelFileError, which begins with `where`, for a package that cannot be used; the model itself is not read.
    """
    try:
        checked_metadata(folder)
        return read_json(folder / METADATA, "package metadata")
    except ModelFileError as error:
        raise ModelFileError(str(error).replace(str(folder), where, 1)) from None
