"""Calls that run without Python's lock (compiled kernels, SentencePiece), and the end of the process.

with native:
    ...                       one call, short enough that an exit may wait for it

The interpreter must not end while a daemon thread is in such a call. The memory of the call would disappear, and Python
ends the returning thread by unwinding its stack, which makes C++ code call abort().
So an exit waits for the running calls, and a thread that begins another one then waits for the end of the process.
If the process goes on, another function of the exit may be waiting for that thread, so it continues.
"""

import atexit
import math
import os
import time
from threading import get_ident

_inside: set[int] = set()  # threads that are in such a call; adding and discarding are atomic
_ending: int | None = None  # the thread that ends the process
_PATIENCE = 10.0  # seconds that an exit waits for calls
_GRACE = 0.25  # seconds that a thread waits for the end of the process
_gone_by = math.inf  # time when the process is gone, if only this module delays its end


class _Native:
    def __enter__(self) -> None:
        _inside.add(get_ident())
        if _ending is not None and _ending != get_ident():
            _inside.discard(get_ident())
            while time.monotonic() < _gone_by:
                time.sleep(_GRACE / 10)
            _inside.add(get_ident())

    def __exit__(self, *_: object) -> None:
        _inside.discard(get_ident())


native = _Native()


def is_ending() -> bool:
    """Returns whether the process is ending, so that new threads may not start."""
    return _ending is not None


def _end() -> None:
    global _ending, _gone_by
    _ending = get_ident()
    deadline = time.monotonic() + _PATIENCE
    while _inside - {_ending} and time.monotonic() < deadline:
        time.sleep(0.001)
    _gone_by = time.monotonic() + _GRACE


atexit.register(_end)
os.register_at_fork(after_in_child=_inside.clear)  # the child has no other threads
