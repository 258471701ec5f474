"""Arrays for compiled code that is not bounds-checked: each lies in a larger buffer full of markers.

    guard = Guards()
    x, out = guard.copy(x), guard.empty((3, 16), np.float32)
    program.some_kernel(x, out)
    guard.check()                    only `out` was written

A kernel that uses values beyond an array returns a wrong result: the marker is a huge float32 (8.5e37) and a large int8
(126). Where arrays are misaligned it is NaN and -1, or, by 36 bytes, a hugely negative float32 (-1.7e38) and -2.
`Pages` detects even unused reads, and ends the process.
"""

import ctypes
import mmap

import numpy as np

_MARGIN = 4096  # bytes on each side: a write far off should still be detected, not crash the tests


class Guards:
    """The arrays of one call, and the bytes around and in them that must not change."""

    def __init__(self, misaligned: int = 0):
        """Arrays begin `misaligned` bytes (below 64) after a cache line."""
        self._misaligned = misaligned
        self._marker = {0: 0x7E, 36: 0xFE}.get(misaligned, 0xFF)
        self._made = []  # (buffer, first byte of the array, its end, content to keep or None)

    def empty(self, shape, dtype) -> np.ndarray:
        """Returns an array that may be written anywhere; it holds markers."""
        return self._place(shape, dtype, None)

    def copy(self, values: np.ndarray, written: bool = False) -> np.ndarray:
        """Returns a copy of `values` that must stay as it is, unless `written`."""
        values = np.ascontiguousarray(values)
        array = self._place(values.shape, values.dtype, None if written else values.tobytes())
        array[...] = values
        return array

    def check(self):
        """Fails if a byte beside an array, or in a read-only one, has changed."""
        for buffer, first, end, kept in self._made:
            before, after = np.flatnonzero(buffer[:first] != self._marker), np.flatnonzero(buffer[end:] != self._marker)
            assert not before.size, f"written {first - before[0]} bytes before the array"
            assert not after.size, f"written {after[0]} bytes after the array's end"
            assert kept is None or buffer[first:end].tobytes() == kept, "an input was changed"

    def _place(self, shape, dtype, kept):
        shape = tuple(np.atleast_1d(shape))
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        buffer = np.full(size + 2 * _MARGIN + 128, self._marker, np.uint8)
        first = _MARGIN + -(buffer.ctypes.data + _MARGIN) % 64 + self._misaligned
        self._made.append((buffer, first, first + size, kept))
        return buffer[first : first + size].view(dtype).reshape(shape)


class Pages(Guards):
    """Guards with arrays at the end of their memory: reading beyond them is a segmentation fault."""

    def _place(self, shape, dtype, kept):
        shape = tuple(np.atleast_1d(shape))
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        end = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
        buffer = np.frombuffer(mmap.mmap(-1, end + mmap.PAGESIZE), np.uint8)
        nothing = 0  # PROT_NONE
        assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(buffer.ctypes.data + end), mmap.PAGESIZE, nothing) == 0
        buffer[:end] = self._marker
        self._made.append((buffer[:end], end - size, end, kept))
        return buffer[end - size : end].view(dtype).reshape(shape)
