"""Files as they are, or packed with gzip or zstd: expanded while they are read, and never beyond a limit.

The decompressors are the standard library's (zstd is in it from Python 3.14, before that in its backport). This module
adds the bounds, which no library has: a bomb costs at most RATIO times its own size and a MiB (no model,
vocabulary or shortlist compresses to a sixteenth; the best known is a half), and a zstd frame has at most
the window that the program `zstd` accepts. Several gzip members or zstd frames in sequence are one file.
"""

import functools
import io
import math
import os
import zlib

import numpy as np

from cpunmt.errors import ModelFileError
from cpunmt.files.input_files import map_bytes
from cpunmt.process.first_use import LOCK

ENDINGS = (".gz", ".zst")
RATIO = 16
_SLACK = 1 << 20  # bytes; for tiny files
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_SKIPPABLE = b"\x2a\x4d\x18"  # after a byte from 0x50 to 0x5f: a zstd frame without content, and then its size
_WINDOW_LOG = 27  # 128 MiB
_LFS = b"version https://git-lfs"
_STEP = 1 << 14  # compressed bytes at a time
_BLOCK = 1 << 16  # expanded ones
_MAX_MEMBERS = 1 << 16


def plain_name(name: str) -> str:
    """Returns `name` without its last .gz or .zst, in any case; `name` may be a path."""
    root, ending = os.path.splitext(name)
    return root if ending.lower() in ENDINGS else name


def packing(start: bytes) -> str | None:
    """Returns how a file is packed, "gzip" or "zstd", by its first 4 bytes; None if it is not packed."""
    if start[:2] == _GZIP:
        return "gzip"
    return "zstd" if start[:4] == _ZSTD or _is_skippable(start) else None


def _is_skippable(start):
    return start[1:4] == _SKIPPABLE and 0x50 <= start[0] <= 0x5F


def expanded(path, kind, limit):
    """Returns the content of `path` as a read-only (size,) uint8 array: a memory map, or in memory if it is packed.

    The arguments are those of `input_files.read_bytes`; the limit also applies to the expanded size.

    Raises ModelFileError as `map_bytes` does, for packed data that is damaged or expands beyond the limit or beyond
    RATIO, and for a file that is a Git LFS pointer.
    """
    content = _mapped(path, kind, limit)
    packed = packing(content[:4].tobytes())
    if packed is None:
        return content
    whole = bytearray()
    with _Expanding(path, kind, content, limit, RATIO) as file:
        while block := file.read(_BLOCK):
            whole += block
    if not whole:
        raise ModelFileError(f"{path}: {kind} is empty inside its {packed} file; fetch or make it again")
    array = np.frombuffer(whole, np.uint8)
    array.flags.writeable = False
    return array


def open_expanded(path, kind, limit, ratio=RATIO):
    """Opens a binary file object that reads the bytes of `expanded` gradually; the caller closes it.

    Errors are those of `expanded`; damaged data raises when it is read. Another `ratio` replaces RATIO as the limit of
    the expansion; with an infinite one the file may have any number of members.
    """
    content = _mapped(path, kind, limit)
    if packing(content[:4].tobytes()):
        return io.BufferedReader(_Expanding(path, kind, content, limit, ratio), _BLOCK)
    return open(path, "rb")


def _mapped(path, kind, limit):
    content = map_bytes(path, kind, limit)
    if content[: len(_LFS)].tobytes() == _LFS:
        raise ModelFileError(
            f"{path}: is a Git LFS pointer, not the {kind} itself; run `git lfs pull` where it was cloned"
        )
    return content


class _Gzip:
    """A decoder of one gzip member; both decoders have `read`, `ended` and the errors that `read` may raise."""

    name, errors = "gzip", (zlib.error,)

    def __init__(self):
        self._decoder = zlib.decompressobj(31)

    def read(self, chunk, most) -> tuple[bytes, int]:
        """Returns (at most `most` bytes, how many bytes of `chunk` it used; below zero: some earlier chunks were not
        used)."""
        made = self._decoder.decompress(chunk, most)
        # at the end both may hold the bytes after the member
        left = self._decoder.unused_data if self._decoder.eof else self._decoder.unconsumed_tail
        return made, len(chunk) - len(left)

    @property
    def ended(self):
        return self._decoder.eof


class _Zstd:
    """A decoder of one zstd frame, which stores the input that it has not used yet."""

    name = "zstd"

    def __init__(self):
        zstd = zstd_module()
        self.errors = (zstd.ZstdError,)
        self._decoder = zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: _WINDOW_LOG})

    def read(self, chunk, most) -> tuple[bytes, int]:
        """Reads as `_Gzip.read` does."""
        given = chunk if self._decoder.needs_input else b""
        made = self._decoder.decompress(given, most)
        return made, len(given) - len(self._decoder.unused_data)

    @property
    def ended(self):
        return self._decoder.eof


@functools.cache
def zstd_module():
    """Returns the standard library's compression.zstd, or its backport; raises ImportError if this Python has
    neither."""
    with LOCK:
        try:
            from compression import zstd
        except ImportError:
            from backports import zstd
    return zstd


class _Expanding(io.RawIOBase):
    """A reader of the gzip or zstd file `content`, uint8."""

    def __init__(self, path, kind, content, limit, ratio):
        self._path, self._kind = path, kind
        self._content, self._position = content, 0
        self._limit = min(limit, ratio * content.size + _SLACK)
        self._made, self._members = 0, 0
        self._most_members = math.inf if ratio == math.inf else _MAX_MEMBERS  # as bgzip writes: one for each 64 KB
        self._decoder = None
        self._name = packing(content[:4].tobytes())

    def readable(self):
        return True

    def readinto(self, buffer):
        while True:
            if self._decoder is None and not self._begin():
                return 0
            chunk = self._content[self._position : self._position + _STEP].data
            try:
                made, used = self._decoder.read(chunk, len(buffer))
            except self._decoder.errors as error:
                raise self._incomplete(error) from None
            self._position += used
            if self._decoder.ended:
                self._decoder = None
            elif not made and not used and not len(chunk):
                raise self._incomplete("it ends too early")
            if made:
                self._made += len(made)
                if self._made > self._limit:
                    raise self._broken(f"expands to more than {self._limit} bytes, expected at most that")
                buffer[: len(made)] = made
                return len(made)

    def _begin(self) -> bool:
        """Starts the next member or frame; returns False after the last."""
        while True:
            rest = self._content[self._position :]
            start = rest[:8].tobytes()
            packed = packing(start)
            if packed is None:
                if rest.any() or (self._name == "zstd" and rest.size):  # zeros may fill the last block of a tape
                    raise self._incomplete("other bytes after its end")
                return False
            self._members += 1
            if self._members > self._most_members:
                raise self._broken(f"more than {_MAX_MEMBERS} {packed} members, expected one")
            if not _is_skippable(start):
                break
            size = 8 + int.from_bytes(start[4:], "little")
            if len(start) < 8 or size > rest.size:
                raise self._incomplete("it ends too early")
            self._position += size
        try:
            self._decoder = _Gzip() if packed == "gzip" else _Zstd()
        except ImportError:
            raise ModelFileError(
                f"{os.fspath(self._path)}: {self._kind} is packed with zstd, and this Python cannot read it; run: "
                "pip install backports.zstd"
            ) from None
        self._name = packed
        return True

    def _incomplete(self, problem):
        return self._broken(f"not a complete {self._name} file ({problem})")

    def _broken(self, problem):
        return ModelFileError(f"{self._path}: {self._kind}: {problem}; fetch or make it again")
