"""Translated files, in memory until they are downloaded: limited in number, for some minutes."""

from __future__ import annotations

import hmac
import math
import time
from collections import OrderedDict
from collections.abc import Iterable
from pathlib import PurePath
from typing import Any

from starlette.responses import Response

from cpunmt.serve.errors import ServeError, bad

SUFFIXES = (".txt", ".html", ".htm")
_SECONDS = 600.0
MOST_BYTES = 64 << 20
SHARE = 4  # a client's unfetched files take at most a quarter of the memory
_EMPTY = 4 << 10  # extra bytes counted for each file, which bounds their number


class StoredFile:
    """A file with its owner, the time of its arrival, and whether it was downloaded.

    key         needed to download it; "": its name is enough
    characters  of its source
    """

    __slots__ = ("began", "characters", "content", "is_fetched", "key", "owner", "size")

    def __init__(self, owner: str, content: bytes, key: str = "", characters: int = 0):
        self.owner, self.content, self.key, self.characters = owner, content, key, characters
        self.began, self.is_fetched, self.size = time.monotonic(), False, _EMPTY + len(content)

    @property
    def is_old(self) -> bool:
        return time.monotonic() - self.began > _SECONDS


class FileStore:
    """Files by random names. Only the event loop's thread uses it.

    A file stays for ten minutes. It leaves earlier only if it was downloaded and its room is needed.
    """

    def __init__(self) -> None:
        self._files: OrderedDict[str, StoredFile] = OrderedDict()

    def check(self, owner: str, size: int) -> None:
        """Raises ServeError without room for a file of `size` bytes."""
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

    def put(self, name: str, file: StoredFile) -> None:
        """Stores a file by a random name. Raises ServeError without room for it."""
        self.check(file.owner, len(file.content))
        self._files[name] = file
        fetched = [name for name, one in self._files.items() if one.is_fetched]
        while sum(one.size for one in self._files.values()) > MOST_BYTES:
            self._forget([fetched.pop(0)])

    def get(self, name: str, key: str = "") -> StoredFile | None:
        """Returns a file, or None if it is gone or has another key."""
        found = self._files.get(name)
        if found is None or found.is_old or not hmac.compare_digest(found.key.encode(), key.encode()):
            return None
        found.is_fetched = True
        return found

    def _forget(self, names: Iterable[str]) -> None:
        for name in names:
            del self._files[name]


def translated_file(name: str, content: bytes) -> tuple[str, dict[str, Any]]:
    """Returns the text of a file, and the options that translate it.

    Raises ServeError for an unknown kind, or a file that is not UTF-8.
    """
    suffix = suffix_of(name)
    if suffix not in SUFFIXES:
        raise bad(f"Invalid request: file format not supported, expected {', '.join(SUFFIXES)}")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise bad("Invalid request: the file is not UTF-8") from None
    return text, {} if suffix == ".txt" else {"html": True}


def is_known(name: str) -> bool:
    return suffix_of(name) in SUFFIXES


def attachment(content: bytes) -> Response:
    """Returns a response that a browser saves as a file."""
    headers = {"Content-Disposition": "attachment", "X-Content-Type-Options": "nosniff"}
    return Response(content, media_type="application/octet-stream", headers=headers)


def suffix_of(name: str) -> str:
    """Returns the extension of a file's name, in lower case."""
    return PurePath(name.replace("\\", "/")).suffix.lower()
