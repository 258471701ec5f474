"""A file in, its translation out: read, found, translated in bulk, written whole."""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from cpunmt.documents.bulk import Translates, translated
from cpunmt.documents.document import DocumentError
from cpunmt.documents.formats import format_of, read_document
from cpunmt.documents.recoded import Recoded
from cpunmt.errors import CpunmtError
from cpunmt.files.output_files import check_file, refuse_overwriting, write_file

MOST_BYTES = 1 << 30  # of a file
_OWN = {"html": False, "xml": False, "num_hypotheses": 1}  # options that a format decides about

_LOG = logging.getLogger("cpunmt")  # what is told of a file that can be translated: where nobody asks, to stderr

Progress = Callable[[int, int], object]


def translate_document(
    translator: Translates,
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
    """Translate a file; the path of what was written.

    Parameters
    ----------
    out : the file to write; None: as `path`, with the language before its ending
    language : what it is translated into, for that name; None: not known
    options : of `translate`
    format : a name of `FORMATS`; None: what the name of `path` ends with
    select : which parts of the file are translated, where its format has parts to choose; none: the usual ones
    encoding : of a text file, by a name that Python knows; None: UTF-8, or UTF-16 with its mark
    force : replace `out`, if it is there
    progress : is told after each window how many units are done, and how many there are, equal ones once

    Raises CpunmtError for a file that cannot be read, or is not what its format says, or that cannot be written; then
    nothing is written. Raises ValueError for options that a document does not have.
    """
    for name, usual in _OWN.items():
        if options.get(name) not in (None, usual):
            raise ValueError(f"{name} is given, and its format decides about that of a document; leave it out")
    if isinstance(select, str) or not all(isinstance(part, str) for part in select):
        raise ValueError(f"select={select!r}: expected a list of texts")
    path = Path(path)
    with _said_of(path):
        form = format_of(path.name, format)
    target = _beside(path, language, form.writes) if out is None else Path(out)
    if target.is_dir():
        raise DocumentError(f"{target}: is a directory; give the name of a file to write")
    refuse_overwriting([target], [path])
    check_file(target, force)
    with _said_of(path):
        content, read = _content(path), functools.partial(read_document, form=form, select=tuple(select))
        document = read(content) if encoding is None else Recoded(content, encoding, read)
    units = document.units
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
        made = document.rendered(translations)
    write_file(target, made)
    return target


@contextlib.contextmanager
def _said_of(path: Path) -> Iterator[None]:
    """Name the file in what goes wrong with it."""
    try:
        yield
    except CpunmtError as error:
        raise DocumentError(f"{path}: {error}") from None


def _beside(path: Path, language: str | None, ending: str) -> Path:
    """The name of the translation, where none is given."""
    return path.with_name(f"{path.stem}.{language or 'translated'}{ending or path.suffix}")


def _content(path: Path) -> bytes:
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            raise DocumentError("is not a regular file; expected a file, not a directory, pipe or device")
        if status.st_size > MOST_BYTES:
            raise DocumentError(f"has {status.st_size} bytes, expected at most {MOST_BYTES}; cut it into parts")
        return path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise DocumentError(f"cannot read it: {getattr(error, 'strerror', None) or error}; check the path") from None
