"""Model files as they lie there, or gzipped: expanded while they are read, and never beyond a limit.

Of another packing the error says how to undo it. A gzip bomb costs at most RATIO times its own size and a MiB:
no model, vocabulary or shortlist compresses to a sixteenth (the best of those known is a half).
"""

import io
import zlib

import numpy as np

from cpunmt.errors import ModelFileError
from cpunmt.files.input_files import map_bytes

RATIO = 16
_SLACK = 1 << 20  # bytes; for tiny files
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_LFS = b"version https://git-lfs"
_STEP = 1 << 14  # compressed bytes at a time
_BLOCK = 1 << 16  # expanded ones
_MAX_MEMBERS = 1 << 16


def expanded(path, kind, limit):
    """The content of `path` as a read-only (size,) uint8 array: a memory map, or in memory if it is gzipped.

    Arguments are those of `input_files.read_bytes`; the limit is that of what a gzip file expands to, too.

    Raises ModelFileError as `map_bytes` does, for gzip data that is damaged or expands beyond the limit or beyond
    RATIO, and for a file that is packed with zstd or is a Git LFS pointer.
    """
    content = _mapped(path, kind, limit)
    if content[:2].tobytes() != _GZIP:
        return content
    whole = bytearray()
    with _Gunzip(path, kind, content, limit) as file:
        while block := file.read(_BLOCK):
            whole += block
    if not whole:
        raise ModelFileError(f"{path}: {kind} is empty inside its gzip file; fetch it again")
    array = np.frombuffer(whole, np.uint8)
    array.flags.writeable = False
    return array


def open_expanded(path, kind, limit):
    """A binary file object, to be closed, that reads what `expanded` would return, little by little.

    Errors are those of `expanded`; what is wrong with gzip data shows when it is read.
    """
    content = _mapped(path, kind, limit)
    if content[:2].tobytes() == _GZIP:
        return io.BufferedReader(_Gunzip(path, kind, content, limit), _BLOCK)
    return open(path, "rb")


def _mapped(path, kind, limit):
    content = map_bytes(path, kind, limit)
    start = content[: len(_LFS)].tobytes()
    if start.startswith(_ZSTD):
        raise ModelFileError(f"{path}: {kind} is compressed with zstd, which is not read; run `unzstd` on it")
    if start == _LFS:
        raise ModelFileError(
            f"{path}: is a Git LFS pointer, not the {kind} itself; run `git lfs pull` where it was cloned"
        )
    return content


class _Gunzip(io.RawIOBase):
    """What is inside the gzip file `content`, uint8; several members, one after the other, are one file."""

    def __init__(self, path, kind, content, limit):
        self._path, self._kind = path, kind
        self._content, self._position = content, 0
        self._limit = min(limit, RATIO * content.size + _SLACK)
        self._made, self._members = 0, 0
        self._decoder = None

    def readable(self):
        return True

    def readinto(self, buffer):
        while True:
            if self._decoder is None and not self._begin():
                return 0
            chunk = self._content[self._position : self._position + _STEP].data
            try:
                made = self._decoder.decompress(chunk, len(buffer))
            except zlib.error as error:
                raise self._broken(f"not a complete gzip file ({error})") from None
            # at the end both may hold what follows
            left = len(self._decoder.unused_data if self._decoder.eof else self._decoder.unconsumed_tail)
            self._position += len(chunk) - left
            if self._decoder.eof:
                self._decoder = None
            elif not len(chunk):
                raise self._broken("not a complete gzip file (it ends too early)")
            if made:
                self._made += len(made)
                if self._made > self._limit:
                    raise self._broken(f"expands to more than {self._limit} bytes, expected at most that")
                buffer[: len(made)] = made
                return len(made)

    def _begin(self):
        """Start the next member; False after the last."""
        rest = self._content[self._position :]
        if rest[:2].tobytes() != _GZIP:
            if rest.any():  # zeros may fill the last block of a tape
                raise self._broken("not a complete gzip file (other bytes after its end)")
            return False
        self._members += 1
        if self._members > _MAX_MEMBERS:
            raise self._broken(f"more than {_MAX_MEMBERS} gzip members, expected one")
        self._decoder = zlib.decompressobj(31)
        return True

    def _broken(self, problem):
        return ModelFileError(f"{self._path}: {self._kind}: {problem}; fetch it again")
