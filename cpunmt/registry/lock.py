"""A lock for one process at a time: filelock's, released when its process ends; here it leaves no file behind."""

import contextlib
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from filelock import FileLock, Timeout, UnixFileLock

from cpunmt.errors import CpunmtError
from cpunmt.process.interrupts import begin, finish

_PAUSE = 0.1  # seconds between two attempts; Ctrl-C is handled there


@contextlib.contextmanager
def locked(path: Path, on_wait: Callable[[], object]) -> Iterator[None]:
    """Holds the lock of the file `path`; `on_wait` is called once if another process has it.

    Raises
    ------
    CpunmtError
        The file cannot be made, something else is in its place, or its filesystem has no locks.
    """
    if _something_else(path):
        raise CpunmtError(f"{path}: is not a regular file, so it cannot be locked; remove it")
    lock = FileLock(path, mode=0o600)
    try:
        try:
            lock.acquire(blocking=False)
        except Timeout:
            on_wait()
            lock.acquire(timeout=-1, poll_interval=_PAUSE)
    except PermissionError:
        raise CpunmtError(f"{path}: cannot be made: no permission; set CPUNMT_MODELS_DIR") from None
    except FileNotFoundError as error:
        raise CpunmtError(f"{path}: cannot be made: {error.strerror}") from None
    except (OSError, NotImplementedError) as error:
        why = getattr(error, "strerror", None) or error
        raise CpunmtError(
            f"{path}: cannot be locked: {why}; set CPUNMT_MODELS_DIR to a folder on a local disk"
        ) from None
    begin(path, lambda: None)  # an interrupt removes it, too
    try:
        yield
    finally:
        # Removed while it is held: a waiting process sees that the file has no name any more, and makes another one. A
        # soft lock, for filesystems without real ones, is its file, and goes with `release`.
        finish(path, lambda: path.unlink(missing_ok=True) if isinstance(lock, UnixFileLock) else None)
        lock.release()


def _something_else(path: Path) -> bool:
    """Returns whether the name is not a regular file's. Asks once: the lock's holder may remove the file."""
    try:
        return not stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False  # nothing is there; or making the file will report the problem
