"""Files that were translated, until they are fetched: some, for some minutes, in memory."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from pathlib import PurePath
from typing import Any

from cpunmt.serve.errors import bad

SUFFIXES = (".txt", ".html", ".htm")
_SECONDS = 600.0
_MOST_BYTES = 32 << 20


class FileStore:
    """Contents by names that cannot be guessed. For one thread: that of the event loop."""

    def __init__(self) -> None:
        self._files: OrderedDict[str, tuple[float, bytes]] = OrderedDict()
        self._bytes = 0

    def put(self, name: str, language: str, content: bytes) -> str:
        """Keep a file; the name under which it can be fetched has its suffix, but no other part of its name."""
        made = f"{secrets.token_hex(16)}_{language}{_suffix(name)}"
        self._files[made] = time.monotonic(), content
        self._bytes += len(content)
        while self._files and (self._bytes > _MOST_BYTES or self._is_old(next(iter(self._files.values()))[0])):
            self._bytes -= len(self._files.popitem(last=False)[1][1])
        return made

    def get(self, name: str) -> bytes | None:
        """A file, if it is still there."""
        began, content = self._files.get(name, (0.0, None))
        return None if content is None or self._is_old(began) else content

    @staticmethod
    def _is_old(began: float) -> bool:
        return time.monotonic() - began > _SECONDS


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
