"""The file of a compiled program: one for each set of sources, compilers, path and kind of processor.

The file holds machine code that will be executed. So its folder must belong to the user and be closed to others (mode
0700); otherwise the file is not used.

CPUNMT_CACHE_DIR    folder of the file; default: cpunmt in the user's cache folder
"""

import contextlib
import fcntl
import functools
import hashlib
import importlib.util
import json
import os
import platform
import stat
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from cpunmt.engine.sources import NoSources, sources_digest
from cpunmt.errors import CpunmtError
from cpunmt.files.console import say
from cpunmt.files.output_files import replacing_file
from cpunmt.files.user_folder import user_folder
from cpunmt.simd import isa, processor

# The file: magic, SHA-256 of all that follows, the kernels' signatures as a line of JSON, the object code.
_MAGIC = b"cpunmt program 1\n"
_DIGEST = 32  # bytes
PATIENCE = 900  # seconds that a process waits for another one, which compiles; an emulated one takes minutes
_PAUSE = 0.1  # seconds between two attempts; Ctrl-C is handled there


@functools.cache
def program_digest() -> str | None:
    """Returns a digest of the sources, the compilers and this processor; None without compilers.

    Raises CpunmtError if the sources cannot be read, although compilers are installed.
    """
    numba, llvmlite = version_of("numba"), version_of("llvmlite")
    if numba is None or llvmlite is None:
        return None
    try:
        state = hashlib.sha256(sources_digest().encode())
    except NoSources as error:
        raise CpunmtError(str(error)) from error
    for fact in (
        numba,
        llvmlite,
        platform.python_version(),
        sys.platform,
        isa.current().value,
        processor.identity(),
    ):
        state.update(fact.encode() + b"\0")
    return state.hexdigest()[:32]


def version_of(package: str) -> str | None:
    """Returns a text that changes with the version of numba or llvmlite; None if it is not installed.

    It does not import them, which takes 300 ms, or ask for their metadata, which takes 15 ms.
    """
    try:
        found = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        found = None
    if found is None or not found.origin:
        return None
    with contextlib.suppress(OSError):
        return Path(found.origin).with_name("_version.py").read_text("utf-8")
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def cache_folder() -> Path:
    chosen = os.environ.get("CPUNMT_CACHE_DIR")
    if chosen:
        return Path(chosen)
    try:
        return user_folder("cache")
    except RuntimeError:  # without a home
        import tempfile

        return Path(tempfile.gettempdir()) / f"cpunmt-{os.getuid()}"


def cache_file() -> Path | None:
    """Returns the file of this machine's program; None without compilers, whose versions are in its name."""
    digest = program_digest()
    return cache_folder() / f"{isa.current().value}-{digest}.program" if digest else None


def content(code: bytes, signatures: dict[str, str]) -> bytes:
    """Returns the content of such a file."""
    body = json.dumps(signatures).encode() + b"\n" + code
    return _MAGIC + hashlib.sha256(body).digest() + body


def parts(data: bytes) -> tuple[bytes, dict[str, str]]:
    """Returns (code, signatures) of a file's content."""
    signatures, _, code = data[len(_MAGIC) + _DIGEST :].partition(b"\n")
    return code, json.loads(signatures)


def read(path: Path) -> bytes | None:
    """Reads a cache file; returns None if it is missing, damaged, or others could have written it."""
    try:
        with _opened_folder(path.parent) as folder:
            if not _private(os.fstat(folder)):
                return None
            # a pipe in its place would wait for a writer
            descriptor = os.open(path.name, os.O_RDONLY | os.O_NONBLOCK, dir_fd=folder)
        with open(descriptor, "rb") as file:
            data = file.read() if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
    except OSError:
        return None
    digest, body = data[len(_MAGIC) :][:_DIGEST], data[len(_MAGIC) + _DIGEST :]
    return data if data.startswith(_MAGIC) and digest == hashlib.sha256(body).digest() else None


@contextlib.contextmanager
def _opened_folder(path: Path) -> Iterator[int]:
    """Returns a descriptor of the folder, so that the checked folder is the one that is read, even if its name changes.

    The name may be a link that the user made.
    """
    folder = os.open(os.path.realpath(path), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        yield folder
    finally:
        os.close(folder)


def _private(status: os.stat_result) -> bool:
    """Returns whether only this user can write in the folder of that status."""
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


@contextlib.contextmanager
def turn(path: Path, on_wait: Callable[[], object]) -> Iterator[None]:
    """Lets one process at a time compile a program of the folder of `path`, so that those that waited find theirs.

    `on_wait` is called once if another process compiles. No process waits longer than PATIENCE, nor where a program
    could not be kept, or without locks: then several compile the same.
    """
    folder = None
    with contextlib.suppress(OSError):  # `write` will tell
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if folder is not None and _private(os.fstat(folder)) and os.access(path.parent, os.W_OK):
            _lock(folder, path, on_wait)
        yield
    finally:
        if folder is not None:
            os.close(folder)  # the lock ends with it, as it does with the process


def _lock(folder: int, path: Path, on_wait: Callable[[], object]) -> None:
    waiting, end = False, time.monotonic() + PATIENCE
    with contextlib.suppress(OSError):  # no locks
        while time.monotonic() < end and not (waiting and read(path)):
            try:
                return fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if not waiting:
                    on_wait()
                waiting = True
                time.sleep(_PAUSE)


def write(path: Path, data: bytes) -> bool:
    """Stores `data` for later starts, or warns on stderr. Returns whether it was stored."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not _private(path.parent.stat()):
            raise PermissionError("the folder belongs to someone else, or others can write in it")
        if path.exists() and not path.is_file():
            raise FileExistsError(f"{path.name} exists, but is not a file")
        with replacing_file(path) as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(data)
        return True
    except (OSError, CpunmtError) as error:
        say(
            f"cpunmt: cannot keep the compiled program in {path.parent} ({_reason(error)}); every start "
            "will compile again. Set CPUNMT_CACHE_DIR to a folder of your own."
        )
        return False


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
