"""The lock under which things are made on first use: the compiled program, tables, threads, late imports.

A fork copies the memory of all threads, but only the thread that forks lives on: a lock that another one holds is
never released in the child, which then waits for ever. So all that is made late is made under this one lock, and a
fork waits until nobody holds it.
"""

import os
import threading

LOCK = threading.RLock()
_held = [LOCK]


def held_over_forks(lock: threading.Lock) -> threading.Lock:
    """`lock`, which forks wait for too. It may be acquired under LOCK; LOCK may not be acquired under it."""
    _held.append(lock)
    return lock


def _acquire():
    for lock in _held:  # in the order in which others acquire them, or a fork and they would wait for each other
        lock.acquire()


def _release():
    for lock in reversed(_held):
        lock.release()


os.register_at_fork(before=_acquire, after_in_parent=_release, after_in_child=_release)
