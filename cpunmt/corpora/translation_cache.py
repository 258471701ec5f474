"""Earlier translations, in a file of SQLite's that any number of processes may use at once.

Keys are digests of model, options and text, so that a cached translation equals a new one.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import struct
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from cpunmt.errors import CpunmtError
from cpunmt.results.results import DOUBTS, DoubtName

_APPLICATION, _VERSION = 0x63706E6D, 2  # "cpnm"
_PATIENCE = 600.0  # seconds to wait for other writers
_PAUSE = 0.01
_AT_ONCE = 500  # keys of a query
_HEAD = struct.Struct("<IdIIB")  # checksum, score, pieces of both sides, a bit for each doubt


class Translated(NamedTuple):
    """A translation with its filter data.

    score            of its pieces, see `Hypothesis.score`
    sources, pieces  the numbers of pieces of the text and its translation
    doubts           see `Result.doubts`
    """

    text: str
    score: float
    sources: int
    pieces: int
    doubts: tuple[DoubtName, ...]


class TranslationCache:
    """The translations by a model with certain options. Each process opens its own."""

    def __init__(self, path: str, of: str):
        """`of`: identifies the model and the options. Raises CpunmtError for a damaged or foreign file."""
        self._path, self._key = path, hashlib.blake2b(of.encode()).digest()
        with self._told():
            self._file = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
            self._file.execute("BEGIN IMMEDIATE")  # another process may be creating it now
            if not self._is_ours():
                self._make()
            self._file.execute("COMMIT")
            self._use_log()
            self._file.execute("PRAGMA synchronous=NORMAL")

    def _is_ours(self) -> bool:
        """Returns whether it exists. Raises CpunmtError for another kind of file."""
        (application,) = self._file.execute("PRAGMA application_id").fetchone()
        (version,) = self._file.execute("PRAGMA user_version").fetchone()
        (tables,) = self._file.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if (application, version) == (_APPLICATION, _VERSION):
            return True
        if tables or application or version:
            self._file.close()
            raise CpunmtError(
                f"{self._path}: is a database of something else, or of another version; name another file"
            )
        return False

    def _use_log(self) -> None:
        """Lets others read while one writes. For this change SQLite itself does not wait."""
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                self._file.execute("PRAGMA journal_mode=WAL")
            except sqlite3.OperationalError:
                if time.monotonic() > until:
                    raise
                time.sleep(_PAUSE)
            else:
                return

    def _make(self) -> None:
        self._file.execute("CREATE TABLE translations (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID")
        self._file.execute(f"PRAGMA application_id={_APPLICATION}")
        self._file.execute(f"PRAGMA user_version={_VERSION}")

    def found(self, texts: Sequence[str]) -> Iterator[tuple[str, Translated]]:
        """Yields the cached texts with their translations."""
        for begin in range(0, len(texts), _AT_ONCE):
            keys = {self._key_of(text): text for text in texts[begin : begin + _AT_ONCE]}
            marks = ",".join("?" * len(keys))
            with self._told():
                rows = self._file.execute(f"SELECT key, value FROM translations WHERE key IN ({marks})", list(keys))
                values = rows.fetchall()
            for key, value in values:
                yield keys[key], self._read(value)

    def add(self, made: Iterable[tuple[str, Translated]]) -> None:
        rows = [(self._key_of(text), _written(translated)) for text, translated in made]
        with self._told():
            self._file.execute("BEGIN IMMEDIATE")
            self._file.executemany("INSERT OR REPLACE INTO translations VALUES (?, ?)", rows)
            self._file.execute("COMMIT")

    def close(self) -> None:
        self._file.close()

    def _key_of(self, text: str) -> bytes:
        return hashlib.blake2b(text.encode(errors="surrogatepass"), key=self._key, digest_size=20).digest()

    def _read(self, value: object) -> Translated:
        try:
            assert isinstance(value, bytes)
            check, score, sources, pieces, flags = _HEAD.unpack_from(value)
            if check != zlib.crc32(value[4:]):
                raise ValueError
            return Translated(
                value[_HEAD.size :].decode(errors="surrogatepass"),
                score,
                sources,
                pieces,
                tuple(name for place, name in enumerate(DOUBTS) if flags >> place & 1),
            )
        except (AssertionError, struct.error, ValueError):
            raise CpunmtError(f"{self._path}: the cache is damaged; remove it, or name another file") from None

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            advice = "remove it, or name another file" if os.path.isfile(self._path) else "check the path"
            raise CpunmtError(f"{self._path}: cannot be used as a cache: {error}; {advice}") from None


def settle(path: str) -> None:
    """Moves all additions into the file itself, so that it can be copied; does nothing while others use it."""
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(path)) as file:
        file.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _written(made: Translated) -> bytes:
    flags = sum(1 << DOUBTS.index(name) for name in made.doubts)
    body = _HEAD.pack(0, made.score, made.sources, made.pieces, flags)[4:] + made.text.encode(errors="surrogatepass")
    return zlib.crc32(body).to_bytes(4, "little") + body
