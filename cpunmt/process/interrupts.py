"""Protection or removal of unfinished work when a process ends.

with uncut: ...                            a section that the end waits for, a second at most
begin(path, make) ... finish(path, act)    `path` is unfinished between these calls: the end removes it
end_by(ask)                                a signal calls `ask`, which returns whether the work ends by itself soon

A command works in its own thread, and its process ends when the main thread is interrupted (see `process`).
The thread is not unwound, even in compiled code, so `abandon` cleans up.
"""

import contextlib
import os
import shutil
import threading
import time
from collections.abc import Callable

from cpunmt.process.first_use import held_over_forks

uncut = held_over_forks(threading.Lock())
_unfinished = set()  # paths
_PATIENCE = 1.0  # seconds
_asked = []  # the callable that ends the work on a signal, if any

os.register_at_fork(after_in_child=_unfinished.clear)  # they belong to the parent


def begin(path: str | os.PathLike, make: Callable):
    """Returns the result of `make`, which creates the file or directory `path`, and marks `path` as unfinished."""
    with uncut:
        made = make()
        _unfinished.add(os.fspath(path))
        return made


def finish(path: str | os.PathLike, act: Callable, leaves: str | os.PathLike | None = None):
    """Marks `path` as finished after `act`, which names or removes it. `leaves` is still to remove."""
    with uncut:
        act()
        keep(path)
        if leaves is not None:
            _unfinished.add(os.fspath(leaves))


def keep(path: str | os.PathLike):
    """Marks `path` as finished. The caller must hold `uncut`."""
    _unfinished.discard(os.fspath(path))


def end_by(ask: Callable[[], bool]):
    """Makes a signal that ends programs call `ask` in the main thread.

    `ask` returns whether the work will end by itself; if not, or at a second signal, the process ends at once.
    """
    _asked[:] = [ask]


def will_end() -> bool:
    """Returns whether the work will end by itself; this call asks it to."""
    return any(ask() for ask in _asked)


def abandon():
    """Removes unfinished files. Other threads that begin or finish one wait until the process has ended."""
    uncut.acquire(timeout=_PATIENCE)
    for path in list(_unfinished):
        deadline = time.monotonic() + _PATIENCE
        while os.path.lexists(path) and time.monotonic() < deadline:
            if os.path.isdir(path):
                shutil.rmtree(path, ignore_errors=True)  # again, if a thread has just written a file into it
            else:
                with contextlib.suppress(OSError):
                    os.unlink(path)
