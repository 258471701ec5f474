"""Files that were translated, until they are fetched: some, for some minutes, in memory."""

from __future__ import annotations

import math
import secrets
import time
from collections import OrderedDict
from collections.abc import Iterable
from pathlib import PurePath
from typing import Any

from cpunmt.serve.errors import ServeError, bad

SUFFIXES = (".txt", ".html", ".htm")
_SECONDS = 600.0
MOST_BYTES = 64 << 20
SHARE = 4  # files that were not fetched take at most a fourth of it for each client
_EMPTY = 4 << 10  # bytes that each file counts for besides its own, which bounds the number of files


class _File:
    """A file with its owner, the time of its arrival, and whether it was fetched."""

    __slots__ = ("began", "content", "is_fetched", "owner", "size")

    def __init__(self, owner: str, content: bytes):
        self.owner, self.content, self.began, self.is_fetched = owner, content, time.monotonic(), False
        self.size = _EMPTY + len(content)

    @property
    def is_old(self) -> bool:
        return time.monotonic() - self.began > _SECONDS


class FileStore:
    """Contents of files by names that cannot be guessed. Only the event loop's thread uses it.

    A file stays for ten minutes. Before that it leaves only if it was fetched and its room is needed.
    """

    def __init__(self) -> None:
        self._files: OrderedDict[str, _File] = OrderedDict()

    def check(self, owner: str, size: int) -> None:
        """Raises ServeError if there is no room for a file of `size` bytes."""
        self._forget([name for name, one in self._files.items() if one.is_old])
        waiting = [one for one in self._files.values() if not one.is_fetched]
        of_all, own = (
            _EMPTY + size + sum(one.size for one in some)
            for some in (waiting, [one for one in waiting if one.owner == owner])
        )
        if of_all > MOST_BYTES or own > MOST_BYTES // SHARE:
            first = next((one for one in waiting if of_all > MOST_BYTES or one.owner == owner), None)
            retry = 1 if first is None else math.ceil(first.began + _SECONDS - time.monotonic())
            raise ServeError(503, "The server is busy: too many files wait to be fetched", retry_after=max(1, retry))

    def put(self, owner: str, name: str, language: str, content: bytes) -> str:
        """Keeps a file; returns a random name that has the suffix of `name`.

        Raises ServeError if there is no room for it.
        """
        self.check(owner, len(content))
        made = f"{secrets.token_hex(16)}_{language}{_suffix(name)}"
        self._files[made] = _File(owner, content)
        fetched = [name for name, one in self._files.items() if one.is_fetched]
        while sum(one.size for one in self._files.values()) > MOST_BYTES:
            self._forget([fetched.pop(0)])
        return made

    def get(self, name: str) -> bytes | None:
        """Returns a file, or None if it is gone."""
        found = self._files.get(name)
        if found is None or found.is_old:
            return None
        found.is_fetched = True
        return found.content

    def _forget(self, names: Iterable[str]) -> None:
        for name in names:
            del self._files[name]


def translated_file(name: str, content: bytes) -> tuple[str, dict[str, Any]]:
    """The text of a file, and the options that translate it.

    Raises ServeError for a kind that is not known, or a file that is not UTF-8.
    """
    suffix = _suffix(name)
    if suffix not in SUFFIXES:
        raise bad(f"Invalid request: file format not supported, expected {', '.join(SUFFIXES)}")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise bad("Invalid request: the file is not UTF-8") from None
    return text, {} if suffix == ".txt" else {"html": True}


def is_known(name: str) -> bool:
    """Whether files of this kind are translated."""
    return _suffix(name) in SUFFIXES


def _suffix(name: str) -> str:
    return PurePath(name.replace("\\", "/")).suffix.lower()
