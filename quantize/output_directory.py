"""Directories that a command writes: complete, or not there at all."""

import os
import secrets
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from cpunmt.errors import CpunmtError


def check_output_directory(path: str | os.PathLike, force: bool, names: Collection[str]):
    """Raise CpunmtError unless the directory can be made.

    One that exists is replaced only by force, and only if it holds no other files than `names`.
    """
    target = Path(path)
    if not target.absolute().parent.is_dir():
        raise CpunmtError(f"{path}: there is no directory {target.parent}; make it first")
    if not os.path.lexists(target):
        return
    if not force:
        raise CpunmtError(f"{path}: exists; choose another directory, or pass --force to replace it")
    if not target.is_dir():
        raise CpunmtError(f"{path}: is not a directory, so it is not replaced; choose another name")
    others = sorted(entry.name for entry in target.iterdir() if entry.name not in names)
    if others:
        raise CpunmtError(
            f"{path}: holds other files ({', '.join(others[:5])}), so it is not replaced; move them, or choose another "
            f"directory"
        )


@contextmanager
def output_directory(path: str | os.PathLike, force: bool, names: Collection[str]) -> Iterator[Path]:
    """An empty folder to fill, which gets its name when all is written; after an error nothing of it is left.

    Parameters and errors: see `check_output_directory`.
    """
    check_output_directory(path, force, names)
    target = Path(path).resolve()  # of a link, the directory it points to is replaced
    partial = target.parent / f".{target.name}.{secrets.token_hex(4)}.partial"
    try:
        partial.mkdir()
        try:
            yield partial
            old = partial.with_suffix(".old")
            if force and target.exists():
                os.rename(target, old)
            try:
                os.rename(partial, target)  # refuses a directory that appeared meanwhile
            except BaseException:
                if old.exists():
                    os.rename(old, target)
                raise
            shutil.rmtree(old, ignore_errors=True)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
    except OSError as error:
        raise CpunmtError(f"{path}: cannot be written: {error.strerror or error}") from None
