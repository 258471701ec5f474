"""Writes files and directories that are complete or absent, even after an interrupt."""

import contextlib
import errno
import fcntl
import os
import re
import shutil
import stat
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import BinaryIO

from cpunmt.errors import CpunmtError
from cpunmt.process.interrupts import begin, finish

_Path = str | os.PathLike[str]
_AnyPath = str | bytes | os.PathLike[str] | os.PathLike[bytes]
_LONGEST = 50  # characters of a name kept in a temporary name: at most 200 bytes in UTF-8, of 255
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_IN_PLACE = ("/dev/fd/", "/dev/std", "/proc/")  # names of streams that another process has opened


@contextlib.contextmanager
def replacing_file(path: _AnyPath) -> Iterator[BinaryIO]:
    """Opens a file to write, which is renamed to `path` at the end, or removed after an error.

    It replaces a file of that name (the target of a link) and keeps its permissions. A device or a pipe is written
    directly. Raises CpunmtError if it cannot be made; writing to it raises OSError.
    """
    path = os.fsdecode(path)
    with told(path):
        if "\0" in path:
            raise OSError(errno.EINVAL, "there is a NUL in its name")
        there = _status(path)
        in_place = there and (not stat.S_ISREG(there.st_mode) or os.path.abspath(path).startswith(_IN_PLACE))
        file = open(path, "wb") if in_place else None  # noqa: SIM115  closed below
    if file:
        yield from _written(file, path)
        return
    target = os.path.realpath(path)
    temporary = _beside(target, "part")
    mode = stat.S_IMODE(there.st_mode) if there else 0o666
    with told(path):
        descriptor = begin(temporary, lambda: os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
    try:
        if there:
            os.fchmod(descriptor, mode)  # independently of the umask
        yield from _written(open(descriptor, "wb"), path)  # noqa: SIM115  `_written` closes it
        with told(path):
            finish(temporary, lambda: os.replace(temporary, target))
    except BaseException:
        with contextlib.suppress(OSError):
            finish(temporary, lambda: os.unlink(temporary))
        raise


def _written(file: BinaryIO, path: str) -> Iterator[BinaryIO]:
    """Yields the file, and closes it afterwards."""
    try:
        yield file
        with told(path):
            file.close()
    finally:
        with contextlib.suppress(OSError):
            file.close()


def write_file(path: _Path, content: bytes) -> None:
    """Writes a file at once: readers see either the old one or the complete new one. Raises CpunmtError."""
    with replacing_file(path) as file, told(path):
        file.write(content)


class _RemovedError(Exception):
    """A temporary file was removed by another process."""


def write_durably(path: _Path, content: bytes) -> None:
    """Like `write_file`, but returns only when the file and its name are on the disk. Raises CpunmtError.

    The temporary file is locked while it is written, so that `remove_abandoned` removes only those without a writer.
    """
    written = False
    while not written:
        with contextlib.suppress(_RemovedError), replacing_file(path) as file, told(path):
            _lock(file, fcntl.LOCK_EX)
            if not os.fstat(file.fileno()).st_nlink:  # in the moment before it was locked
                raise _RemovedError
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            written = True
    with told(path):
        sync(os.path.dirname(os.path.abspath(os.fsdecode(path))))


def _lock(file: BinaryIO, how: int) -> None:
    """Locks a file, if its file system can: on some clusters it cannot."""
    try:
        fcntl.flock(file, how)
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP):
            raise


def remove_abandoned(folder: _Path, beginnings: Collection[str]) -> None:
    """Removes temporary files of `write_durably` with these beginnings of names, if their writers were killed."""
    pattern = "|".join(re.escape(name[:_LONGEST]) for name in beginnings)
    abandoned = re.compile(rf"\.(?:{pattern}).*\.[0-9a-f]{{8}}\.part", re.DOTALL)
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        names = [entry.path for entry in entries if abandoned.fullmatch(entry.name)]
        for name in names:
            with contextlib.suppress(OSError), open(name, "r+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # OSError: its writer is at work
                os.unlink(name)


@contextlib.contextmanager
def told(path: _AnyPath, advice: Callable[[OSError], str] = lambda error: "") -> Iterator[None]:
    """Converts errors of writing to `path` to one CpunmtError, which ends with the advice."""
    try:
        yield
    except OSError as error:
        raise CpunmtError(f"{os.fsdecode(path)}: cannot be written: {error.strerror or error}{advice(error)}") from None


def remedy(error: OSError) -> str:
    """Returns a short remedy for a file that cannot be written."""
    return "make room" if error.errno in _FULL else "check the folder"


def sync(path: _Path) -> None:
    """Flushes a file or directory to the disk before its name marks it as complete: power may fail after that."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def check_file(path: _Path, force: bool) -> None:
    """Raises CpunmtError unless a file can be written to `path`; an existing one is replaced only by force."""
    target = Path(path)
    if str(path) == "-":
        raise CpunmtError("-: expected the name of a file; standard output tells what is done")
    if _is_standard_output(path):
        raise CpunmtError(f"{path}: is standard output, which tells what is done; give the name of a file")
    if target.is_dir():
        raise CpunmtError(f"{path}: is a directory, expected a file to write")
    if not force and os.path.lexists(target) and not _is_special(target):
        raise CpunmtError(f"{path}: exists; choose another name, or replace it (force=True)")
    if not target.parent.is_dir():
        raise CpunmtError(f"{path}: the directory {target.parent} does not exist; make it first")


def refuse_overwriting(outputs: Collection[_Path | None], inputs: Collection[_Path | None]) -> None:
    """Raises CpunmtError if an output is repeated, or is, or contains, one of the inputs.

    None is ignored on both sides.
    """
    written = [os.path.realpath(os.fspath(path)) for path in outputs if path is not None]
    twice = next((path for path in written if written.count(path) > 1 and not _is_special(path)), None)
    if twice:
        raise CpunmtError(f"{twice}: is to be written twice; choose another name for one of them")
    for path in inputs:
        read = None if path is None else os.path.realpath(os.fspath(path))
        lost = next((out for out in written if read and (read == out or read.startswith(out + os.sep))), None)
        if lost:
            raise CpunmtError(f"{path}: is read, and would be replaced; choose another name to write to")


def check_directory(path: _Path, force: bool, names: Collection[str]) -> None:
    """Raises CpunmtError unless the directory can be made.

    An existing one is replaced only by force, and only if it holds no other files than `names`.
    """
    target = Path(os.path.realpath(path))
    if not os.path.lexists(target):
        if not target.parent.is_dir():
            raise CpunmtError(f"{path}: the directory {target.parent} does not exist; make it first")
        return
    if not force:
        raise CpunmtError(f"{path}: exists; choose another directory, or replace it (force=True)")
    if not target.is_dir():
        raise CpunmtError(f"{path}: is not a directory, so it is not replaced; choose another name")
    others = sorted(entry.name for entry in target.iterdir() if entry.name not in names)
    if others:
        raise CpunmtError(
            f"{path}: holds other files ({', '.join(others[:5])}), so it is not replaced; move them, or choose another "
            f"directory"
        )


@contextlib.contextmanager
def replacing_directory(path: _Path, force: bool, names: Collection[str]) -> Iterator[Path]:
    """Makes an empty folder to fill, and renames it to `path` when all is written, or removes it after an error.

    Parameters: see `check_directory`. Raises CpunmtError as it does, and if the directory cannot be written.
    """
    check_directory(path, force, names)
    target = Path(os.path.realpath(path))  # of a link, the directory it points to is replaced
    partial, old = Path(_beside(target, "partial")), Path(_beside(target, "old"))
    with told(path):
        begin(partial, partial.mkdir)
        try:
            yield partial
            there = _status(target) if force else None
            mode = stat.S_IMODE(there.st_mode) if there else 0
            if there:
                os.chmod(partial, mode | stat.S_IRWXU)
            finish(partial, lambda: swap(partial, target, old if there else None), leaves=old if there else None)
        except BaseException:
            finish(partial, lambda: shutil.rmtree(partial, ignore_errors=True))
            raise
        if there:
            os.chmod(old, mode | stat.S_IRWXU)  # nothing can be removed from a read-only directory
            finish(old, lambda: shutil.rmtree(old, ignore_errors=True))  # open memory maps of its files stay valid
            os.chmod(target, mode)


def swap(partial: Path, target: Path, old: Path | None) -> None:
    """Renames the directory `partial` to `target`, and an earlier `target` to `old`, unless that is None.

    Raises OSError; then all keep their earlier names.
    """
    if old is None:
        os.rename(partial, target)  # fails for a directory that appeared meanwhile
        return
    os.rename(target, old)
    try:
        os.rename(partial, target)
    except BaseException:
        os.rename(old, target)
        raise


@contextlib.contextmanager
def scratch_directory(beside: _Path) -> Iterator[Path]:
    """Makes an empty folder on the disk of `beside`, and removes it afterwards. Raises OSError if it cannot be made."""
    folder = Path(_beside(os.path.realpath(beside), "scratch"))
    begin(folder, folder.mkdir)
    try:
        yield folder
    finally:
        finish(folder, lambda: shutil.rmtree(folder, ignore_errors=True))


def _beside(path: _Path, what: str) -> str:
    folder, name = os.path.split(os.fspath(path))
    return os.path.join(folder, f".{name[:_LONGEST]}.{os.urandom(4).hex()}.{what}")


def _status(path: _Path) -> os.stat_result | None:
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _is_standard_output(path: _Path) -> bool:
    """Returns whether output to the path would be mixed with standard output."""
    try:
        there, standard = os.stat(path), os.fstat(1)
    except OSError:
        return False
    return os.path.samestat(there, standard) and not stat.S_ISCHR(there.st_mode)


def _is_special(path: _Path) -> bool:
    """Returns whether the path is neither a file nor a directory: writing to it destroys nothing."""
    there = _status(path)
    return there is not None and not stat.S_ISREG(there.st_mode) and not stat.S_ISDIR(there.st_mode)
