"""Reads files that may be missing, packed, broken or hostile: each failure is one ModelFileError with the path.

The standard library parses JSON and expands gzip; zstd is in it from Python 3.14, before that in its backport. PyYAML
parses YAML. This module refuses what they allow (a repeated key, NaN, aliases) and adds the limits that they lack. A
packed file expands to at most RATIO times its own size and a MiB (no model, vocabulary or shortlist compresses to a
sixteenth; the best known is a half). A zstd frame has at most the window that the program `zstd` accepts. Several gzip
members or zstd frames in sequence are one file.
"""

from __future__ import annotations

import fnmatch
import functools
import hashlib
import io
import json
import math
import mmap  # NumPy would import it when it maps a file: late, and not under the lock of first use
import os
import stat
import zlib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO

import numpy as np

from cpunmt.errors import ModelFileError
from cpunmt.process.first_use import LOCK

AnyPath = str | os.PathLike[str]
Bytes = np.ndarray[tuple[Any, ...], np.dtype[np.uint8]]
ENDINGS = (".gz", ".zst")
METADATA = "metadata.json"  # in a directory that a registry, a packer or Argos has made
RATIO = 16
_SLACK = 1 << 20  # bytes; for tiny files
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_SKIPPABLE = b"\x2a\x4d\x18"  # after a byte from 0x50 to 0x5f: a zstd frame without content, and then its size
_WINDOW_LOG = 27  # 128 MiB
_LFS = b"version https://git-lfs"
_STEP = 1 << 14  # compressed bytes at a time
_BLOCK = 1 << 16  # expanded ones
_MAX_MEMBERS = 1 << 16
_MAX_YAML = 1 << 14  # bytes; real ones have 1 to 3 kB
_MAX_DEPTH = 4  # nested collections of YAML
# kinds of files that belong to the user, not to a model
_TEXTS = ("calibration text", "sentence pairs", "test set", "text", "text of --activations")


def read_bytes(path: AnyPath, kind: str, limit: int) -> bytes:
    """Returns the content of the regular file `path`, at least one byte.

    Parameters
    ----------
    path : str or path-like
    kind : str
        The expected content, for the message: "vocabulary".
    limit : int
        Bytes; a larger file is refused before anything is read.

    Raises
    ------
    ModelFileError
        The file is missing, unreadable, empty, too large, or not a regular file (a pipe would block).
    """
    size = _checked_size(path, kind, limit)
    try:
        with open(path, "rb") as file:
            content = file.read(size + 1)  # the file may have grown since it was measured
    except OSError as error:
        raise ModelFileError(f"{path}: cannot read the {kind}: {error.strerror}") from None
    if len(content) != size:
        raise ModelFileError(f"{path}: {kind} changed while it was read; try again")
    return content


def map_bytes(path: AnyPath, kind: str, limit: int) -> Bytes:
    """Returns the regular file `path` as a read-only (size,) uint8 memory map; arguments and errors as of
    `read_bytes`."""
    _checked_size(path, kind, limit)
    try:
        return np.memmap(path, np.uint8, mode="r")
    except (OSError, ValueError) as error:  # ValueError: emptied since it was measured
        raise ModelFileError(f"{path}: cannot map the {kind}: {error}") from None


def forget_pages(array: np.ndarray) -> None:
    """Lets the system take back the memory of an array in a file of `map_bytes`; it is read again when it is used.

    Does nothing for other arrays.
    """
    whole: Any = array
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    if isinstance(whole.base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED") and array.flags.c_contiguous:
        first = array.ctypes.data - whole.ctypes.data  # of the whole pages between `first` and its end
        begin = -(-first // mmap.PAGESIZE) * mmap.PAGESIZE
        end = (first + array.nbytes) // mmap.PAGESIZE * mmap.PAGESIZE
        if end > begin:
            whole.base.madvise(mmap.MADV_DONTNEED, begin, end - begin)


def _checked_size(path: AnyPath, kind: str, limit: int) -> int:
    """Returns the size in bytes of the regular file `path`."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        again = "" if kind in _TEXTS else ", or fetch or pack the model again"
        raise ModelFileError(f"{path}: {kind} not found; check the path{again}") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise ModelFileError(f"{path}: cannot read the {kind}: {error}") from None
    if not stat.S_ISREG(status.st_mode):
        raise ModelFileError(f"{path}: {kind} is not a regular file; expected a file, not a directory, pipe or device")
    if status.st_size == 0:
        advice = "expected text, one sentence a line" if kind in _TEXTS else "fetch or pack the model again"
        raise ModelFileError(f"{path}: {kind} is empty; {advice}")
    if status.st_size > limit:
        raise ModelFileError(f"{path}: {kind} has {status.st_size} bytes, expected at most {limit}; wrong file?")
    return status.st_size


def plain_name(name: str) -> str:
    """Returns `name` without its last .gz or .zst, in any case; `name` may be a path."""
    root, ending = os.path.splitext(name)
    return root if ending.lower() in ENDINGS else name


def packed_once(names: Iterable[str]) -> list[str]:
    """Returns names of files, sorted. Of a file and its packed forms, only the file itself or the first form counts."""
    best: dict[str, str] = {}
    for name in sorted(names, key=lambda name: (name != plain_name(name), name)):
        best.setdefault(plain_name(name), name)
    return sorted(best.values())


def matching(names: Iterable[str], patterns: Iterable[str], but: Iterable[str] = ()) -> list[str]:
    """Returns the names that match a pattern of fnmatch, and none of `but`, without a last .gz or .zst."""
    plain = {name: plain_name(name) for name in names}

    def matches(name: str, patterns: Iterable[str]) -> bool:
        return any(fnmatch.fnmatchcase(plain[name], pattern) for pattern in patterns)

    return [name for name in plain if matches(name, patterns) and not matches(name, but)]


def packing(start: bytes) -> str | None:
    """Returns how a file is packed, "gzip" or "zstd", by its first 4 bytes; None if it is not packed."""
    if start[:2] == _GZIP:
        return "gzip"
    return "zstd" if start[:4] == _ZSTD or _is_skippable(start) else None


def _is_skippable(start: bytes) -> bool:
    return start[1:4] == _SKIPPABLE and 0x50 <= start[0] <= 0x5F


def expanded(path: AnyPath, kind: str, limit: int) -> Bytes:
    """Returns the content of `path` as a read-only (size,) uint8 array: a memory map, or in memory if it is packed.

    The arguments are those of `read_bytes`; the limit also applies to the expanded size.

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


def open_expanded(path: AnyPath, kind: str, limit: int, ratio: float = RATIO) -> BinaryIO:
    """Opens a binary file object that reads the bytes of `expanded` gradually; the caller closes it.

    Errors are those of `expanded`; damaged data raises when it is read. Another `ratio` replaces RATIO as the limit of
    the expansion; with an infinite one the file may have any number of members.
    """
    content = _mapped(path, kind, limit)
    if packing(content[:4].tobytes()):
        return io.BufferedReader(_Expanding(path, kind, content, limit, ratio), _BLOCK)
    return open(path, "rb")


def _mapped(path: AnyPath, kind: str, limit: int) -> Bytes:
    content = map_bytes(path, kind, limit)
    if content[: len(_LFS)].tobytes() == _LFS:
        raise ModelFileError(
            f"{path}: is a Git LFS pointer, not the {kind} itself; run `git lfs pull` where it was cloned"
        )
    return content


class _Gzip:
    """A decoder of one gzip member; both decoders have `read`, `ended` and the errors that `read` may raise."""

    errors: tuple[type[Exception], ...] = (zlib.error,)

    def __init__(self) -> None:
        self._decoder = zlib.decompressobj(31)

    def read(self, chunk: bytes | memoryview, most: int) -> tuple[bytes, int]:
        """Returns (at most `most` bytes, how many bytes of `chunk` it used; below zero: some earlier chunks were not
        used)."""
        made = self._decoder.decompress(chunk, most)
        # at the end both may hold the bytes after the member
        left = self._decoder.unused_data if self._decoder.eof else self._decoder.unconsumed_tail
        return made, len(chunk) - len(left)

    @property
    def ended(self) -> bool:
        return self._decoder.eof


class _Zstd:
    """A decoder of one zstd frame, which stores the input that it has not used yet."""

    def __init__(self) -> None:
        zstd: Any = zstd_module()
        self.errors: tuple[type[Exception], ...] = (zstd.ZstdError,)
        self._decoder = zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: _WINDOW_LOG})

    def read(self, chunk: bytes | memoryview, most: int) -> tuple[bytes, int]:
        """Reads as `_Gzip.read` does."""
        given = chunk if self._decoder.needs_input else b""
        made = self._decoder.decompress(given, most)
        return made, len(given) - len(self._decoder.unused_data)

    @property
    def ended(self) -> bool:
        return bool(self._decoder.eof)


@functools.cache
def zstd_module() -> ModuleType:
    """Returns the standard library's compression.zstd, or its backport; raises ImportError if this Python has
    neither."""
    with LOCK:
        try:
            from compression import zstd
        except ImportError:
            from backports import zstd
    module: ModuleType = zstd
    return module


class _Expanding(io.RawIOBase):
    """A reader of the gzip or zstd file `content`, uint8."""

    def __init__(self, path: AnyPath, kind: str, content: Bytes, limit: int, ratio: float):
        self._path, self._kind = path, kind
        self._content, self._position = content, 0
        self._limit = min(limit, ratio * content.size + _SLACK)
        self._made, self._members = 0, 0
        self._most_members = math.inf if ratio == math.inf else _MAX_MEMBERS  # as bgzip writes: one for each 64 KB
        self._decoder: _Gzip | _Zstd | None = None
        self._name = packing(content[:4].tobytes())

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            decoder = self._decoder or self._begin()
            if decoder is None:
                return 0
            chunk = self._content[self._position : self._position + _STEP].data
            try:
                made, used = decoder.read(chunk, len(buffer))
            except decoder.errors as error:
                raise self._incomplete(error) from None
            self._position += used
            if decoder.ended:
                self._decoder = None
            elif not made and not used and not len(chunk):
                raise self._incomplete("it ends too early")
            if made:
                self._made += len(made)
                if self._made > self._limit:
                    raise self._broken(f"expands to more than {self._limit} bytes, expected at most that")
                buffer[: len(made)] = made
                return len(made)

    def _begin(self) -> _Gzip | _Zstd | None:
        """Starts the next member or frame; returns its decoder, or None after the last."""
        while True:
            rest = self._content[self._position :]
            start = rest[:8].tobytes()
            packed = packing(start)
            if packed is None:
                if rest.any() or (self._name == "zstd" and rest.size):  # zeros may fill the last block of a tape
                    raise self._incomplete("other bytes after its end")
                return None
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
        return self._decoder

    def _incomplete(self, problem: object) -> ModelFileError:
        return self._broken(f"not a complete {self._name} file ({problem})")

    def _broken(self, problem: str) -> ModelFileError:
        return ModelFileError(f"{self._path}: {self._kind}: {problem}; fetch or make it again")


def digest_of(file: BinaryIO, digest: Any = None) -> str:
    """Returns the hexadecimal SHA-256, or another `digest` of hashlib, of the rest of `file`."""
    digest = digest or hashlib.sha256()
    while block := file.read(1 << 20):
        digest.update(block)
    return str(digest.hexdigest())


def describe(path: AnyPath) -> dict[str, Any]:
    """Returns the size and SHA-256 of a file, as in a metadata.json. Raises OSError."""
    with open(path, "rb") as file:
        digest = digest_of(file)
        return {"size": file.tell(), "sha256": digest}


def read_json(path: AnyPath, kind: str, limit: int = 16 << 20) -> dict[str, Any]:
    """Returns the JSON object in the file `path` as a dict; errors as in `read_bytes` and `parse_json`."""
    return parse_json(read_bytes(path, kind, limit), f"{Path(path)}: {kind}")


def optional_json(path: AnyPath, kind: str, limit: int = 16 << 20) -> dict[str, Any]:
    """Returns the content of a file as `read_json` does; an empty dict if there is none."""
    return read_json(path, kind, limit) if Path(path).exists() else {}


def parse_json(content: bytes, where: str) -> dict[str, Any]:
    """Returns the JSON object in the UTF-8 bytes `content` as a dict.

    Stricter than `json.loads`: a repeated key, NaN, infinity and anything but an object are refused, each
    with a ModelFileError that starts with `where`.
    """
    fields = _parsed(content, where)
    if not isinstance(fields, dict):
        raise ModelFileError(f"{where}: is a JSON {type(fields).__name__}, expected an object {{...}}")
    return fields


def parse_json_list(content: bytes, where: str) -> list[Any]:
    """Returns the JSON array in the UTF-8 bytes `content` as a list; refuses the same as `parse_json`."""
    items = _parsed(content, where)
    if not isinstance(items, list):
        raise ModelFileError(f"{where}: is a JSON {type(items).__name__}, expected an array [...]")
    return items


def _parsed(content: bytes, where: str) -> Any:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        fields = dict(pairs)
        if len(fields) < len(pairs):
            twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
            raise ModelFileError(f"{where}: key {twice!r} occurs twice; the file is broken, fetch or pack it again")
        return fields

    def finite(constant: str) -> object:
        raise ValueError(f"{constant} is not JSON")

    try:
        return json.loads(content.decode("utf-8"), object_pairs_hook=unique, parse_constant=finite)
    except (ValueError, RecursionError) as error:  # not UTF-8, not JSON, an integer of 5000 digits; too deep
        raise ModelFileError(f"{where}: not valid JSON ({error}); fetch or pack it again") from None


def parse_yaml(text: bytes, where: str) -> dict[str, Any]:
    """Returns the flat mapping in the UTF-8 bytes `text`: name -> value as PyYAML's safe loader makes it.

    Raises
    ------
    ModelFileError
        Starting with `where`: over 16 KiB, not YAML, not a mapping, a name that is not text or is repeated, aliases
        (a few bytes of them unfold to gigabytes), or deep nesting (which costs PyYAML minutes).
    """
    if len(text) > _MAX_YAML:
        raise ModelFileError(f"{where} has {len(text)} bytes, expected at most {_MAX_YAML}")
    with LOCK:  # our own models have no YAML
        import yaml

    try:
        decoded = text.decode("utf-8")
        depth = 0
        for event in yaml.parse(decoded, yaml.SafeLoader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if isinstance(event, yaml.AliasEvent) or depth > _MAX_DEPTH:
                raise ValueError("expected neither aliases nor deep nesting")
        loader = yaml.SafeLoader(decoded)
        node = loader.get_single_node()
        found = None if node is None else loader.construct_document(node)
    except Exception as error:  # besides YAMLError whatever its constructors meet: IndexError, KeyError, ...
        raise ModelFileError(f"{where} is not valid YAML ({_yaml_problem(error)}); fetch or export it again") from error
    if not isinstance(found, dict) or not all(isinstance(name, str) for name in found):
        raise ModelFileError(f"{where} is not a mapping of option names to values")
    names = [key.value for key, _ in node.value]
    if len(names) > len(set(names)):
        twice = next(name for name in names if names.count(name) > 1)
        raise ModelFileError(f"{where}: {twice!r} occurs twice; remove one of them")
    return found


def _yaml_problem(error: Any) -> str:
    """Returns the message in one line: PyYAML draws the place."""
    if mark := getattr(error, "problem_mark", None):
        return f"line {mark.line + 1}: {error.problem}"
    return "; ".join(str(error).splitlines())
