"""The lock for objects made on first use: the compiled program, tables, threads, late imports.

A fork copies the memory of all threads, but only the forking thread continues in the child. A lock held by another
thread is never released there, and the child would wait for ever. So all late objects are made under this one lock, and
a fork waits until it is free.
"""

import os
import threading
from typing import Any

LOCK = threading.RLock()
_held: list[Any] = [LOCK]


def held_over_forks(lock: threading.Lock) -> threading.Lock:
    """Makes forks wait for `lock` too. It may be acquired under LOCK; LOCK may not be acquired under it."""
    _held.append(lock)
    return lock


def _acquire() -> None:
    for lock in _held:  # in the order in which others acquire them, to avoid a deadlock with a fork
        lock.acquire()


def _release() -> None:
    for lock in reversed(_held):
        lock.release()


os.register_at_fork(before=_acquire, after_in_parent=_release, after_in_child=_release)
