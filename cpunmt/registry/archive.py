"""Unpacks a model from an untrusted zip archive: flat, bounded, and each file checked by its CRC-32."""

import io
import os
import shutil
import struct
import zipfile
import zlib
from contextlib import AbstractContextManager
from pathlib import Path

from cpunmt.errors import CpunmtError
from cpunmt.files.line_stream import write_all
from cpunmt.files.output_files import told
from cpunmt.registry.entries import LARGEST_MODEL, check_file_name, fetch_again

_MOST_FILES = 1000
_LARGEST_DIRECTORY = 1 << 20  # bytes; zipfile reads it before any check
_END = 22  # bytes of the record at the end of an archive without a comment
_BLOCK = 1 << 20
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# zipfile's errors for broken content: OSError is an impossible offset in the file.
_DAMAGED = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, ValueError, OverflowError)


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
    _check_end(archive, where)
    try:
        with zipfile.ZipFile(archive) as opened:
            files = opened.infolist()
            _check(files, where)
            needed = sum(file.file_size for file in files)
            free = shutil.disk_usage(folder).free
            if needed > free:
                raise CpunmtError(f"{where}: unpacking needs {needed} bytes in {folder}, which has {free}; make room")
            for file in files:
                _unpack_file(opened, file, folder / file.filename, where)
    except _DAMAGED as error:
        raise BrokenArchiveError(f"{where}: no zip archive, or a damaged one ({error}); fetch again") from None


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


def _check(files: list[zipfile.ZipInfo], where: str) -> None:
    if len(files) > _MOST_FILES:
        raise BrokenArchiveError(f"{where}: {len(files)} files in the archive, expected at most {_MOST_FILES}")
    seen = set()
    for file in files:
        try:
            check_file_name(file.filename, where)
        except CpunmtError as error:
            raise BrokenArchiveError(str(error)) from None
        if file.filename.lower() in seen:
            raise BrokenArchiveError(f"{where}: the archive has the file {file.filename!r} twice; expected it once")
        seen.add(file.filename.lower())
        if file.compress_type not in _METHODS:
            raise BrokenArchiveError(f"{where}: {file.filename} is packed by method {file.compress_type}, expected 8")
    size = sum(file.file_size for file in files)
    if size > LARGEST_MODEL:
        raise BrokenArchiveError(f"{where}: the archive unpacks to {size} bytes, expected at most {LARGEST_MODEL}")


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
