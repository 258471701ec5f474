"""Fetches a model: its checked files, in a temporary folder beside its place, which is renamed at the end.

The temporary folder, .NAME.part, stays after a failure, and the next run continues in it.
"""

import dataclasses
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cpunmt.errors import CpunmtError, ModelFileError
from cpunmt.files.input_files import METADATA, describe
from cpunmt.files.output_files import remedy, swap, sync
from cpunmt.formats.any_directory import PACKAGE_FILE
from cpunmt.registry import store
from cpunmt.registry.archive import BrokenArchiveError, unpack, unpack_package
from cpunmt.registry.download import download, download_through_library
from cpunmt.registry.entries import ModelEntry, check_entry
from cpunmt.registry.lock import locked
from cpunmt.registry.package_file import read_package

_PLAN = ".plan.json"  # identifies the temporary folder's model


def install(
    entry: ModelEntry, *, force: bool = False, on_bytes: Callable[[int], object], say: Callable[[str], object]
) -> Path:
    """Fetches `entry` unless it exists, also if another process is fetching it; returns its directory.

    Parameters
    ----------
    entry : ModelEntry
    force : bool
        Fetch an existing model again; it stays until the new one is complete.
    on_bytes, say : callable
        As `download` takes them.

    Raises
    ------
    CpunmtError
        A file that cannot be fetched or is wrong, no room, no permission.
    """
    check_entry(entry)
    target = store.folder_of(entry.name)
    part, old = (target.with_name(f".{target.name}.{what}") for what in ("part", "old"))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with locked(
            target.with_name(f".{target.name}.lock"), lambda: say(f"{entry.name}: waiting for another process")
        ):
            if os.path.lexists(old) and not os.path.lexists(target):  # a process ended between the two renames below
                os.replace(old, target)
            there = os.path.lexists(target)  # also a link to nowhere
            if there and store.find_metadata(target) is None:
                raise CpunmtError(f"{target} exists and is not a fetched model; it stays: move it elsewhere")
            if there and not force:
                return target
            try:
                _prepare(part, entry)
                ready = _fetch(entry, part, on_bytes, say)
            except CpunmtError:
                _remove_if_empty(part)
                raise
            _remove(old)
            swap(ready, target, old if there else None)
            _remove(old)
            _remove(part)
    except OSError as error:
        where = error.filename or target.parent
        raise CpunmtError(f"{where}: {error.strerror or error}; {remedy(error)} or set CPUNMT_MODELS_DIR") from None
    return target


def _prepare(part: Path, entry: ModelEntry) -> None:
    """Makes an empty folder, or keeps an earlier run's for this very entry."""
    plan = json.dumps(dataclasses.asdict(entry)).encode()
    if part.is_symlink() or not (part / _PLAN).is_file() or (part / _PLAN).read_bytes() != plan:
        _remove(part)
    part.mkdir(exist_ok=True)
    (part / _PLAN).write_bytes(plan)
    here = sum(path.stat().st_size for path in part.iterdir() if path.name != _PLAN)
    needed = (entry.size or 0) + entry.unpacked_size - here
    free = shutil.disk_usage(part).free
    if needed > free:
        raise CpunmtError(f"{entry.name} needs {needed} more bytes in {part.parent}, which has {free}; make room")


def _fetch(entry: ModelEntry, part: Path, on_bytes: Callable[[int], object], say: Callable[[str], object]) -> Path:
    """Fetches everything into `part`; returns the folder of the model, which has no other files."""
    get = download_through_library if entry.through_library else download
    downloads = [(file, get(file, part, on_bytes, say)) for file in entry.files]
    ready, package = part, dict[str, Any]()
    if entry.packed:
        ready = part / ".content"
        _remove(ready)
        ready.mkdir()
        for file, path in downloads:
            try:
                if path.name.endswith(PACKAGE_FILE):
                    unpack_package(path, ready, f"{entry.name}: {file.url}")
                    package = read_package(ready, f"{entry.name}: {file.url}")
                else:
                    unpack(path, ready, f"{entry.name}: {file.url}")
            except (BrokenArchiveError, ModelFileError):
                path.unlink()  # another run should fetch it again
                _remove(ready)
                raise
    found = sorted(path for path in ready.rglob("*") if path.is_file() and path.name != _PLAN)
    found = [path for path in found if path != ready / METADATA]  # a package's own is in ours
    described = {path: describe(path) for path in {*found, *(path for _, path in downloads)}}
    metadata = {
        **package,
        "name": entry.name,
        "sourceLanguage": entry.source,
        "targetLanguage": entry.target,
        "architecture": entry.architecture or None,
        "version": entry.version or None,
        "licence": entry.licence,
        "registry": entry.registry,
        "downloads": [{"url": file.url, **described[path]} for file, path in downloads],
        "files": {path.relative_to(ready).as_posix(): described[path] for path in found},
    }
    (ready / METADATA).write_text(json.dumps(metadata, indent=2) + "\n", "utf-8")
    sync(ready / METADATA)
    (part / _PLAN).unlink()
    return ready


def _remove_if_empty(part: Path) -> None:
    """Removes a folder without any received bytes."""
    if [path.name for path in part.iterdir()] == [_PLAN]:
        _remove(part)


def _remove(folder: Path) -> None:
    """Removes a folder, or a file in its place."""
    if folder.is_symlink() or folder.is_file():
        folder.unlink()
    elif folder.exists():
        shutil.rmtree(folder)
