"""What the end of a process in the midst of its work must leave whole, or take away.

    with uncut: ...                            a section that the end waits for, a second at most
    begin(path, make) ... finish(path, act)    between the two `path` is unfinished: the end removes it
    end_by(ask)                                a signal calls `ask`, which may say that the work ends by itself soon

A command works in a thread of its own, and its process ends when the main thread is interrupted (see `process`):
nothing in the thread is unwound, whatever compiled code it is in. `abandon` does what is left to do.
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
_asked = []  # who ends the work on a signal, at most one

os.register_at_fork(after_in_child=_unfinished.clear)  # they are the parent's


def begin(path: str | os.PathLike, make: Callable):
    """What `make` returns, which brings the file or directory `path` into being."""
    with uncut:
        made = make()
        _unfinished.add(os.fspath(path))
        return made


def finish(path: str | os.PathLike, act: Callable, leaves: str | os.PathLike | None = None):
    """`path` is not unfinished any more; `act` gives it its name, or removes it. What it leaves is to be removed."""
    with uncut:
        act()
        keep(path)
        if leaves is not None:
            _unfinished.add(os.fspath(leaves))


def keep(path: str | os.PathLike):
    """`path` is not unfinished any more. To be called while `uncut` is held."""
    _unfinished.discard(os.fspath(path))


def end_by(ask: Callable[[], bool]):
    """From now on a signal that ends programs calls `ask` in the main thread.

    It says whether the work will end by itself; if not, as at a second signal, the process ends at once.
    """
    _asked[:] = [ask]


def will_end() -> bool:
    """Whether the work will end by itself, as it has been asked to by this call."""
    return any(ask() for ask in _asked)


def abandon():
    """Remove what is unfinished. Whatever other threads would begin or finish now waits until the process is gone."""
    uncut.acquire(timeout=_PATIENCE)
    for path in list(_unfinished):
        deadline = time.monotonic() + _PATIENCE
        while os.path.lexists(path) and time.monotonic() < deadline:
            if os.path.isdir(path):
                shutil.rmtree(path, ignore_errors=True)  # again, if a thread has just written a file into it
            else:
                with contextlib.suppress(OSError):
                    os.unlink(path)
