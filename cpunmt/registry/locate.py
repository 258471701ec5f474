"""Finds the model that a user names: a path, a fetched model's name, or a zipped package, which is unpacked once."""

import os
from pathlib import Path

from cpunmt.errors import CpunmtError, ModelFileError
from cpunmt.formats.any_directory import is_package_file
from cpunmt.process.first_use import LOCK
from cpunmt.registry.store import find, installed, is_name, plain, split_name
from cpunmt.values.spelling import hint


def located(model: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> Path:
    """Finds the model that a user names: a path, which need not exist, or the name of a fetched model.

    An .argosmodel file is unpacked into the user's folder of models, unless it is there already.

    Raises
    ------
    CpunmtError
        As `find`, or as `package_file.unpacked`.
    ModelFileError
        The path does not exist, and another path or a model's name is probably meant: the message suggests it. Or the
        path is empty.
    """
    if is_name(model):
        return find(model)
    text = os.fsdecode(model)
    if not text:  # Path would take it as the current directory
        raise ModelFileError("the model's path is empty; expected a directory, a file in it, or a fetched model's name")
    if not os.path.exists(text):
        meant = _meant(text)
        if meant:
            raise ModelFileError(f"{text}: no such directory{meant}")
    if is_package_file(text):
        with LOCK:
            from cpunmt.registry.package_file import unpacked
        return unpacked(Path(text))
    return Path(text)


def _meant(path: str) -> str:
    """Suggests the likely meaning of a missing path, and how to get it: the end of a message, or ""."""
    with LOCK:
        from cpunmt.registry.misspelt import beside, published
    folder = beside(Path(path))
    if folder:
        return hint(str(folder))
    name = published(path)
    if name is None or (os.sep in path and os.path.isdir(os.path.dirname(path))):
        return ""
    try:
        split_name(name)
    except CpunmtError:
        return ""
    if any(plain(model.name) == plain(name) for model in installed()):
        return hint(f"{name}, which has been fetched")
    return f"{hint(name)}; run: cpunmt fetch {name}"
