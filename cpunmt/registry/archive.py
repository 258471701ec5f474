"""Unpacks a model from an untrusted zip archive: bounded, and each file checked by its CRC-32.

`unpack` takes the flat archives of OPUS-MT, `unpack_package` Argos' packages, which are one folder.
"""

import io
import os
import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from cpunmt.errors import CpunmtError
from cpunmt.files.input_files import METADATA
from cpunmt.files.line_stream import write_all
from cpunmt.files.output_files import told
from cpunmt.formats.argos.argos_package import MODEL
from cpunmt.registry.entries import LARGEST_MODEL, check_file_name, fetch_again

_MOST_FILES = 1000
_LARGEST_DIRECTORY = 1 << 20  # bytes; zipfile reads it before any check
_RATIO = 200  # unpacked to packed bytes; weights of 8 bits have less than 2, vocabularies about 5
_SLACK = 1 << 20  # bytes; for tiny files
_END = 22  # bytes of the record at the end of an archive without a comment
_BLOCK = 1 << 20
_SHOWN = 3
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# zipfile's errors for broken content: OSError is an impossible offset in the file.
_DAMAGED = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, ValueError, OverflowError)

_Places = list[tuple[str, zipfile.ZipInfo]]


class BrokenArchiveError(CpunmtError):
    """The archive itself is wrong: fetching it again may help, keeping it will not."""


def unpack(archive: Path, folder: Path, where: str) -> None:
    """Unpacks every file of `archive` into `folder`.

    Parameters
    ----------
    archive, folder : Path
    where : the model and URL, for messages

    Raises
    ------
    BrokenArchiveError
        Not a zip archive, a damaged one, one with folders or unsafe names, or with over LARGEST_MODEL bytes in it.
    CpunmtError
        No room. In both cases, the caller removes the unpacked files.
    """
    _unpack(archive, folder, where, _flat)


def unpack_package(archive: Path, folder: Path, where: str) -> None:
    """Unpacks the files of a package of Argos into `folder`, without the folder that encloses them in `archive`.

    Only the files of a model are unpacked: those beside metadata.json, and in the folder model. Parameters and errors
    are those of `unpack`; BrokenArchiveError also for a link, and for another number of enclosing folders than one.
    """
    _unpack(archive, folder, where, _in_package)


def _unpack(
    archive: Path,
    folder: Path,
    where: str,
    places: Callable[[list[zipfile.ZipInfo], str], _Places],
) -> None:
    """`places` checks all names, and returns the files to unpack, with their names in `folder`."""
    _check_end(archive, where)
    try:
        with zipfile.ZipFile(archive) as opened:
            files = opened.infolist()
            _check_sizes(files, os.path.getsize(archive), where)
            wanted = places(files, where)
            _check(wanted, where)
            needed = sum(file.file_size for _, file in wanted)
            free = shutil.disk_usage(folder).free
            if needed > free:
                raise CpunmtError(f"{where}: unpacking needs {needed} bytes in {folder}, which has {free}; make room")
            for name, file in wanted:
                with _told(folder / name):
                    (folder / name).parent.mkdir(exist_ok=True)
                _unpack_file(opened, file, folder / name, where)
    except _DAMAGED as error:
        problem = str(error)[:200]  # it may quote a name of 64 KiB
        raise BrokenArchiveError(f"{where}: no zip archive, or a damaged one ({problem}); fetch again") from None


def _check_end(archive: Path, where: str) -> None:
    with open(archive, "rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - _END - 20))
        tail = file.read()
    end = tail[-_END:]
    if len(end) < _END or not end.startswith(b"PK\5\6") or end[20:] != b"\0\0":
        raise BrokenArchiveError(f"{where}: no zip archive, or one that was cut off or has a comment; fetch again")
    directory = int.from_bytes(end[12:16], "little")
    if directory > _LARGEST_DIRECTORY or tail.startswith(b"PK\6\7"):  # zip64, for larger archives than allowed
        raise BrokenArchiveError(f"{where}: a zip archive of far too many files, expected at most {_MOST_FILES}")


def _check_sizes(files: list[zipfile.ZipInfo], packed: int, where: str) -> None:
    if len(files) > _MOST_FILES:
        raise BrokenArchiveError(f"{where}: {len(files)} files in the archive, expected at most {_MOST_FILES}")
    size, most = sum(file.file_size for file in files), min(LARGEST_MODEL, _RATIO * packed + _SLACK)
    if size > most:
        raise BrokenArchiveError(f"{where}: the archive unpacks to {size} bytes, expected at most {most}")


def _check(files: _Places, where: str) -> None:
    """Raises BrokenArchiveError for a name that occurs twice, in any case, and for an unknown packing."""
    seen = set()
    for name, file in files:
        if name.lower() in seen:
            raise BrokenArchiveError(f"{where}: the archive has the file {name!r} twice; expected it once")
        seen.add(name.lower())
        if file.compress_type not in _METHODS:
            raise BrokenArchiveError(f"{where}: {name} is packed by method {file.compress_type}, expected 8")


def _check_name(name: str, where: str) -> None:
    try:
        check_file_name(name, where)
    except CpunmtError as error:
        raise BrokenArchiveError(str(error)) from None


def _flat(files: list[zipfile.ZipInfo], where: str) -> _Places:
    places = []
    for file in files:
        _check_name(file.filename, where)
        places.append((file.filename, file))
    return places


def _in_package(files: list[zipfile.ZipInfo], where: str) -> _Places:
    places = []
    roots = set()
    for file in files:
        name = file.filename.removesuffix("/")
        parts = name.split("/")
        if "\\" in name or ":" in name or not {"", ".", ".."}.isdisjoint(parts):
            raise BrokenArchiveError(
                f"{where}: file name {file.filename[:200]!r} is refused: it would leave the package's folder; "
                "nothing was unpacked"
            )
        if stat.S_ISLNK(file.external_attr >> 16):
            raise BrokenArchiveError(f"{where}: {name[:200]!r} is a link, expected files only; nothing was unpacked")
        roots.add(parts[0])
        if len(parts) == 1 and not file.is_dir():
            raise BrokenArchiveError(
                f"{where}: the file {name[:200]!r} is in no folder, expected one folder, "
                f"with {METADATA} and {MODEL}/ in it"
            )
        kept = len(parts) == 2 or (len(parts) == 3 and parts[1] == MODEL)
        if kept and not file.is_dir():
            inside = "/".join(parts[1:])
            if inside != METADATA:
                _check_name(parts[-1], where)
            places.append((inside, file))
    if len(roots) != 1:
        shown = ", ".join(repr(root[:80]) for root in sorted(roots)[:_SHOWN])
        raise BrokenArchiveError(f"{where}: holds the folders {shown or 'none'}, expected one, which is the package")
    return places


def _unpack_file(opened: zipfile.ZipFile, file: zipfile.ZipInfo, path: Path, where: str) -> None:
    written = 0
    with opened.open(file) as content, _writing(path) as target:
        while block := content.read(_BLOCK):
            written += len(block)
            if written > file.file_size:
                raise BrokenArchiveError(f"{where}: {file.filename} is larger than announced, {file.file_size} bytes")
            with _told(path):
                write_all(target.fileno(), block)
        with _told(path):
            os.fsync(target.fileno())
    if written != file.file_size:
        raise BrokenArchiveError(f"{where}: {file.filename} has {written} bytes, its archive says {file.file_size}")


def _writing(path: Path) -> io.FileIO:
    with _told(path):
        return open(path, "xb", buffering=0)


def _told(path: Path) -> AbstractContextManager[None]:
    """Reports failures to write, which are not damage of the archive."""
    return told(path, fetch_again)
