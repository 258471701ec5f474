"""Translates a file: reads it, finds its texts, translates them in bulk, and writes the new file."""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from cpunmt.documents.declared_languages import check_languages
from cpunmt.documents.document import DocumentError, Recoded
from cpunmt.documents.known_formats import FORMATS, format_of, read_document
from cpunmt.documents.xml_nodes import first_element
from cpunmt.errors import CancelledError, CpunmtError, TimeLimitError
from cpunmt.files.output_files import check_file, refuse_overwriting, write_file
from cpunmt.markup.units import Unit, Words

if TYPE_CHECKING:
    from cpunmt.markup.pages import Page
    from cpunmt.registry.store import Languages

MOST_BYTES = 1 << 30  # of a file
_BEGINNING = 1 << 16  # bytes, in which XML has its first element
_OWN = {"html": False, "xml": False, "num_hypotheses": 1}  # options that a format determines

_LOG = logging.getLogger("cpunmt")  # for warnings about translatable files; they go to stderr by default

WINDOW = 1024  # units translated together; progress is reported after each window

Progress = Callable[[int, int], object]


class Translates(Protocol):
    """A `Translator`, a `Pivot`, or a wrapper of one: see `DocumentMethod`."""

    def translating(self, given: Mapping[str, Any], pages: bool = False) -> Callable[[Sequence[Unit]], Sequence[Page]]:
        """Returns a function that translates units."""


class TranslatesFiles(Translates, Protocol):
    """A `Translates` that knows its languages."""

    @property
    def languages(self) -> Languages:
        """The languages of calls that name none."""


def translated(
    units: Sequence[Unit], translator: Translates, options: Mapping[str, Any], advance: Callable[[int], object]
) -> list[Words]:
    """Translates all units of a document, equal ones once.

    `options` are those of `translate`. `advance` is called after each window with its number of units.
    """
    waiting = list(dict.fromkeys(units))
    if not waiting:
        return []
    translate = translator.translating(options, any(unit.is_page for unit in waiting))
    made: dict[Unit, Words] = {}
    for begin in range(0, len(waiting), WINDOW):
        window = waiting[begin : begin + WINDOW]
        made.update(zip(window, [page.words() for page in translate(window)], strict=True))
        advance(len(window))
    return [made[unit] for unit in units]


def translate_document(
    translator: TranslatesFiles,
    path: str | os.PathLike[str],
    out: str | os.PathLike[str] | None,
    language: str | None,
    options: dict[str, Any],
    *,
    format: str | None = None,
    select: Sequence[str] = (),
    encoding: str | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Path:
    """Translates a file, and returns the path of the new one; see `DocumentMethod.translate_document`.

    `language`: the target language for the new file's name, or None. `options` are those of `translate`.
    """
    _check_options(options, select)
    path = Path(path)
    check_input(path, format)
    target = output_of(path, language, format) if out is None else Path(out)
    check_output(path, target, force)
    made = translated_content(
        translator, content_of(path), path, options, format=format, select=select, encoding=encoding, progress=progress
    )
    write_file(target, made)
    return target


def translated_content(
    translator: TranslatesFiles,
    content: bytes,
    path: str | os.PathLike[str],
    options: dict[str, Any],
    *,
    format: str | None = None,
    select: Sequence[str] = (),
    encoding: str | None = None,
    progress: Progress | None = None,
) -> bytes:
    """Translates the content of a file; `path`: its name, for messages and, if `format` is None, for its format.

    Other parameters and errors are those of `translate_document`.
    """
    _check_options(options, select)
    path = Path(path)
    with _said_of(path):
        read = functools.partial(read_document, form=format_of(path.name, format), select=tuple(select))
        document = read(content) if encoding is None else Recoded(content, encoding, read)
        units = document.units
        if units:
            check_languages(getattr(document, "languages", ()), translator.languages, options)
    for note in getattr(document, "notes", ()):
        _LOG.warning("%s: %s", path, note)
    total, done = len(set(units)), 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(done, total)

    advance(0)
    translations = translated(units, translator, options, advance)
    with _said_of(path):
        return document.rendered(translations)


def _check_options(options: dict[str, Any], select: Sequence[str]) -> None:
    for name, usual in _OWN.items():
        if options.get(name) not in (None, usual):
            raise ValueError(f"{name} is given, and its format decides about that of a document; leave it out")
    if isinstance(select, str) or not all(isinstance(part, str) for part in select):
        raise ValueError(f"select={select!r}: expected a list of texts")


def check_input(path: str | os.PathLike[str], format: str | None) -> None:
    """Raises DocumentError unless the file exists, has a known format and is not too large."""
    path = Path(path)
    with _said_of(path):
        _check_file(path)
        format_of(path.name, format)


def has_format(name: str, format: str | None) -> bool:
    """Returns whether files of this name have a known format; a given `format` counts instead."""
    if format is not None:
        format_of(name, format)  # raises for an unknown format
    return any(name.lower().endswith(known.endings) for key, known in FORMATS.items() if format in (None, key))


def is_found(path: str | os.PathLike[str], format: str | None) -> bool:
    """Returns whether a file of a folder is translated with it: its name says so, and if other kinds of files have such
    names also its first element. What cannot be read is reported later.
    """
    name = os.path.basename(path)
    if not has_format(name, format):
        return False
    element = format_of(name, format).element
    if format is None and element and os.path.isfile(path):
        with contextlib.suppress(OSError), open(path, "rb") as file:
            return first_element(file.read(_BEGINNING)) == element
    return True


def output_of(
    path: str | os.PathLike[str], language: str | None, format: str | None, folder: str | os.PathLike[str] | None = None
) -> Path:
    """Returns the path of a translation: in `folder` with the same name, or beside `path` with the language added."""
    path = Path(path)
    ending = format_of(path.name, format).writes or path.suffix
    if folder is not None:
        return Path(folder) / f"{path.stem}{ending}"
    return path.with_name(f"{path.stem}.{language or 'translated'}{ending}")


def check_output(path: str | os.PathLike[str], target: Path, force: bool) -> None:
    """Raises CpunmtError unless the translation of the file `path` can be written to `target`."""
    if target.is_dir():
        raise DocumentError(f"{target}: is a directory; give the name of a file to write")
    refuse_overwriting([target], [path])
    check_file(target, force)


@contextlib.contextmanager
def _said_of(path: Path) -> Iterator[None]:
    """Names the file in its errors."""
    try:
        yield
    except (CancelledError, TimeLimitError):
        raise
    except CpunmtError as error:
        raise DocumentError(f"{path}: {error}") from None


def content_of(path: str | os.PathLike[str]) -> bytes:
    """Returns the bytes of a file. Raises DocumentError if it cannot be read, or is too large."""
    path = Path(path)
    with _said_of(path):
        _check_file(path)
        with _reading():
            return path.read_bytes()


def _check_file(path: Path) -> None:
    with _reading():
        status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):
        raise DocumentError("is not a regular file; expected a file, not a directory, pipe or device")
    if status.st_size > MOST_BYTES:
        raise DocumentError(f"has {status.st_size} bytes, expected at most {MOST_BYTES}; cut it into parts")


@contextlib.contextmanager
def _reading() -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise DocumentError(f"cannot read it: {getattr(error, 'strerror', None) or error}; check the path") from None
