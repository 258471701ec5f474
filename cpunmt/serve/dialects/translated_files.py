"""Files of all formats of `cpunmt.documents`: translated, and in memory for some minutes until they are downloaded."""

from __future__ import annotations

import contextlib
import functools
import hmac
import importlib.util
import io
import math
import secrets
import threading
import time
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

from starlette.responses import Response

from cpunmt.documents.archives.zip_file import Archive
from cpunmt.documents.document import Contents, DocumentError, Recoded
from cpunmt.documents.known_formats import FORMATS, Format, format_of, read_document
from cpunmt.documents.translate import WINDOW, translated
from cpunmt.errors import CancelledError, CpunmtError, TimeLimitError
from cpunmt.markup.units import Unit, bare, bounded, parts_of
from cpunmt.process.stopping import Watch, check, under
from cpunmt.serve.detection import Wanted
from cpunmt.serve.dialects.dialect import Ask
from cpunmt.serve.dialects.events import streamed
from cpunmt.serve.errors import ServeError, bad
from cpunmt.serve.parameters import checked_texts
from cpunmt.serve.queue.waiting import Task

_EXPANDED = 64 << 20  # bytes of an archive's files
_SECONDS = 600.0
MOST_BYTES = 64 << 20
SHARE = 4  # a client's unfetched files take at most a quarter of the memory
_MOST_WAITING = 32  # files that are read or wait for it
_MOST_UNITS = 50_000  # texts of a file; each takes about 1 kB of memory, however short it is
_MORE = 4  # times the characters that are translated may be read: some texts are translated already
_STEP = 0.1  # seconds between checks whether a waiting request is to end
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
        self._turn = threading.Lock()  # held while a file is read or written, which takes memory
        self._waiting = 0

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

    @contextlib.contextmanager
    def held(self, owner: str, content: bytes) -> Iterator[None]:
        """Counts a file while it is translated. Raises ServeError without room for it."""
        name = secrets.token_hex(16)
        self.put(name, StoredFile(owner, content, key=name))  # no request can have this key
        try:
            yield
        finally:
            self._files.pop(name, None)

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """Counts a file while it is read. Raises ServeError for one too many."""
        if self._waiting >= _MOST_WAITING:
            raise ServeError(503, "The server is busy: too many files wait to be read", retry_after=1)
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1

    @contextlib.contextmanager
    def turn(self, task: Task, seconds: float) -> Iterator[None]:
        """Reads or writes one file at a time; any thread may use it.

        Waits at most `seconds`, else raises ServeError. The work within has `seconds`, too, else raises TimeLimitError.
        Raises CancelledError for a cancelled task.
        """
        try:
            with under(Watch(seconds, lambda: task.cancelled)):
                while not self._turn.acquire(timeout=_STEP):
                    check()
        except TimeLimitError:
            raise ServeError(503, "The server is busy: it reads other files", retry_after=1) from None
        try:
            with under(Watch(seconds, lambda: task.cancelled)):
                yield
        finally:
            self._turn.release()

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


class TranslatedFile(NamedTuple):
    """A translated file.

    ending      of its name
    characters  of the texts in its source
    """

    wanted: Wanted
    content: bytes
    ending: str
    characters: int


def endings() -> list[str]:
    """Returns the endings of the names of files that this server translates: pypdf may be missing."""
    is_readable = {"pdf": importlib.util.find_spec("pypdf") is not None}
    return [ending for name, form in FORMATS.items() if is_readable.get(name, True) for ending in form.endings]


def known_format(ask: Ask, name: str) -> tuple[Format, str]:
    """Returns the format of a file, and the ending of its translation's name.

    Raises ServeError for an unknown format, or if the server does not translate files.
    """
    if ask.service.settings.no_files:
        raise ServeError(403, "Files translation is disabled on this server.")
    suffix = PurePath(name.replace("\\", "/")).suffix.lower()
    if suffix not in endings():
        raise bad(f"Invalid request: file format not supported, expected {', '.join(endings())}")
    form = format_of(suffix, None)
    return form, form.writes or suffix


class _ReadFile(NamedTuple):
    """A file that has been read, with the ending of its translation's name.

    texts  of its units
    """

    form: Format
    ending: str
    content: bytes
    document: Contents
    units: Sequence[Unit]
    texts: list[str]


async def translated_file(
    ask: Ask, file: tuple[str, bytes], source: str, target: str, options: Mapping[str, Any]
) -> TranslatedFile:
    """Translates a file, which is counted as one that waits to be fetched meanwhile.

    The parameters `select` (parts of a table, JSON or YAML) and `encoding` are those of `translate_document`.

    Raises ServeError as `known_format`, for a broken or too large file, and the errors of `Service.translate`.
    """
    service, files = ask.service, ask.service.kept(FileStore)
    form = known_format(ask, file[0])
    with files.held(ask.owner, file[1]):
        read = await _read_in_turn(ask, files, file[1], *form)

        def work(task: Task) -> TranslatedFile:
            wanted = _wanted(ask, read, source, target)
            return _translated(task, ask, files, read, wanted, options, lambda count: None)

        with service.usage.charged(ask.owner, read.texts):
            return await service.run(ask.request, work)


async def streamed_file(
    ask: Ask, file: tuple[str, bytes], source: str, target: str, answer: Callable[[TranslatedFile], Any]
) -> Response:
    """Translates a file as `translated_file`, and returns the response: events of the progress, then `answer`.

    Errors of the request are raised before anything is sent.
    """
    service, files = ask.service, ask.service.kept(FileStore)
    form = known_format(ask, file[0])
    with files.held(ask.owner, file[1]):
        read = await _read_in_turn(ask, files, file[1], *form)

        def first(task: Task) -> tuple[Wanted, int]:
            wanted = _wanted(ask, read, source, target)
            service.check(task, wanted, {})
            return wanted, len(set(read.units))

        wanted, total = await service.run(ask.request, first)
    done = 0

    def advance(count: int) -> None:
        nonlocal done
        done += count

    def share(task: Task) -> float:
        return (done + min(WINDOW, total - done) * task.share) / total if total else 1.0

    def work(task: Task, _: object) -> TranslatedFile:
        return _translated(task, ask, files, read, wanted, {}, advance)

    return streamed(ask, read.texts, work, answer, share=share, during=lambda: files.held(ask.owner, read.content))


async def _read_in_turn(ask: Ask, files: FileStore, content: bytes, form: Format, ending: str) -> _ReadFile:
    with files.waiting():
        document, units = await ask.service.run(ask.request, lambda task: _read(task, ask, files, content, form))
    texts = checked_texts([_text(unit) for unit in units], ask.service.settings, "file", is_file=True)
    return _ReadFile(form, ending, content, document, units, texts)


def _wanted(ask: Ask, read: _ReadFile, source: str, target: str) -> Wanted:
    (wanted,) = ask.service.wanted(["\n".join(read.texts)], source, target)
    return wanted


def _translated(
    task: Task,
    ask: Ask,
    files: FileStore,
    read: _ReadFile,
    wanted: Wanted,
    options: Mapping[str, Any],
    advance: Callable[[int], object],
) -> TranslatedFile:
    """Translates and writes a file; `advance` is called with numbers of different units that are done."""
    service, characters = ask.service, sum(map(len, read.texts))
    if wanted.source != wanted.target:
        with under(Watch(cancel=lambda: task.cancelled)):
            translator = service.document_translator(task, wanted)
            translations = translated(read.units, translator, options, advance)
    elif read.form.writes:
        translations = [unit.words for unit in read.units]
    else:
        return TranslatedFile(wanted, read.content, read.ending, characters)
    with _said("write"), files.turn(task, service.settings.deadline):
        return TranslatedFile(wanted, read.document.rendered(translations), read.ending, characters)


def _read(task: Task, ask: Ask, files: FileStore, content: bytes, form: Format) -> tuple[Contents, Sequence[Unit]]:
    """Reads a file in its turn, as some formats take much memory for it, and no longer than the deadline."""
    settings, given = ask.service.settings, ask.parameters
    select = given.texts("select") if "select" in given else []
    encoding = given.text("encoding", "")
    most = _MORE * settings.max_characters
    with _said("read"), files.turn(task, settings.deadline), bounded(_MOST_UNITS, most):
        if zipfile.is_zipfile(io.BytesIO(content)) and (expanded := Archive(content).expanded) > _EXPANDED:
            raise DocumentError(f"would be {expanded} bytes when expanded, expected at most {_EXPANDED}")
        read = functools.partial(read_document, form=form, select=select)
        document = Recoded(content, encoding, read) if encoding else read(content)
        return document, document.units


@contextlib.contextmanager
def _said(action: str) -> Iterator[None]:
    """Converts the errors of a client's file to those of a request; `action`: what takes too long."""
    try:
        yield
    except CancelledError:
        raise
    except TimeLimitError:
        raise bad(f"Invalid request: the file takes too long to {action}", "Send it in parts") from None
    except CpunmtError as error:
        raise bad(f"Invalid request: the file: {error}") from None


def _text(unit: Unit) -> str:
    return bare(parts_of(unit.words))


def attachment(content: bytes) -> Response:
    """Returns a response that a browser saves as a file."""
    headers = {"Content-Disposition": "attachment", "X-Content-Type-Options": "nosniff"}
    return Response(content, media_type="application/octet-stream", headers=headers)
