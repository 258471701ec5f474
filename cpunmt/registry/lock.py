"""One process at a time: a lock that ends with its process, and leaves no file behind."""

import contextlib
import fcntl
import os
import time
from pathlib import Path

from cpunmt.errors import CpunmtError
from cpunmt.process.interrupts import begin, finish

_PAUSE = 0.1  # seconds between two looks; Ctrl-C is heard there


@contextlib.contextmanager
def locked(path: Path, on_wait):
    """Hold the lock that the file `path` stands for; `on_wait` is called once if another process has it.

    Raises
    ------
    CpunmtError
        The file cannot be made.
    """
    told = False
    while True:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except PermissionError:
            raise CpunmtError(f"{path}: cannot be made: no permission; set CPUNMT_MODELS_DIR") from None
        except OSError as error:
            raise CpunmtError(f"{path}: cannot be made: {error.strerror}") from None
        if _acquire(handle) and _is_the_file(handle, path):
            break
        os.close(handle)
        if not told:
            on_wait()
            told = True
        time.sleep(_PAUSE)
    begin(path, lambda: None)  # an interrupt removes it, too
    try:
        yield
    finally:
        finish(path, lambda: path.unlink(missing_ok=True))  # while it is held
        os.close(handle)


def _is_the_file(handle, path) -> bool:
    """Whether the locked file still has its name: its last holder may just have removed it."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False


def _acquire(handle) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
