"""The input and output of commands: files or standard streams, by descriptor; every failure is one error."""

from __future__ import annotations

import codecs
import contextlib
import fcntl
import itertools
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from cpunmt.errors import CpunmtError
from cpunmt.files.console import is_watched, progress_bar, say, stream_errors
from cpunmt.files.line_stream import count_lines, read_windows, write_all
from cpunmt.process.interrupts import begin, finish, keep, uncut

_GATHERED = 1 << 18  # bytes written at once, about
_DOCUMENTS = (b"PK\3\4", b"%PDF-")  # begin a ZIP archive, which DOCX, EPUB and others are, and a PDF
FIRST = 64  # lines in a file's first window: early output at little cost


STANDARD = "-"  # stands for a standard stream in place of a path
GROUP = "input and output"  # title of the group of flags that name files


@contextlib.contextmanager
def opened_input(path: str | None) -> Iterator[int]:
    """Yields the descriptor of the file to read, or of standard input if `path` is None or "-"."""
    if path in (None, STANDARD):
        if sys.stdin is None:
            raise CpunmtError("standard input is closed; give a file")
        _refuse_directory("standard input", 0)
        yield 0
        return
    descriptor = _open(path, os.O_RDONLY, "input")
    try:
        _refuse_directory(path, descriptor)
        yield descriptor
    finally:
        os.close(descriptor)


class Output:
    """An output file or stream of lines. The first write or `finish` empties an existing file.

    A file that it created is removed if the process ends before the first write.
    """

    def __init__(self, descriptor: int, old: bool, made: str | None = None):
        self.descriptor = descriptor
        self.untouched = old
        self.made = made  # path of the file that opening has created

    def write(self, chunks: Iterable[bytes]) -> None:
        """Writes all chunks, also if the process is interrupted meanwhile; the last chunk ends a line.

        Raises CpunmtError if that fails, BrokenPipeError if the reader has left. A file then ends with a whole line.
        """
        with uncut, stream_errors("cannot write the output"):
            self._touch()
            place = self._place()
            line = place or 0
            gathered: list[bytes] = []
            size = 0
            for chunk in itertools.chain(chunks, [None]):
                if chunk is not None:
                    gathered.append(chunk)
                    size += len(chunk)
                    if size < _GATHERED:
                        continue
                data = b"".join(gathered)
                try:
                    write_all(self.descriptor, data)
                except OSError as error:
                    if place is not None:
                        self._cut(place, line, data[: getattr(error, "characters_written", 0)])
                    raise
                if place is not None:
                    line = place + data.rindex(b"\n") + 1 if b"\n" in data else line
                    place += len(data)
                gathered, size = [], 0

    def _place(self) -> int | None:
        """Returns the offset of the next byte in a regular file; None for a pipe, a terminal or a device."""
        status = os.fstat(self.descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        if fcntl.fcntl(self.descriptor, fcntl.F_GETFL) & os.O_APPEND:
            return status.st_size
        return os.lseek(self.descriptor, 0, os.SEEK_CUR)

    def _cut(self, place: int, line: int, written: bytes) -> None:
        """Removes the beginning of a line whose rest did not fit on the disk.

        Parameters
        ----------
        place : offset of `written`, the last bytes that fitted
        line : offset of the last line that began before `place`
        """
        end = place + len(written)
        line = place + written.rindex(b"\n") + 1 if b"\n" in written else line
        # else others write to the same file, and its last bytes are theirs
        if end == os.lseek(self.descriptor, 0, os.SEEK_CUR) == os.fstat(self.descriptor).st_size:
            os.ftruncate(self.descriptor, line)
            os.lseek(self.descriptor, line, os.SEEK_SET)

    def finish(self) -> None:
        """Removes a file's earlier content."""
        with uncut:
            self._touch()

    def _touch(self) -> None:
        if self.untouched and stat.S_ISREG(os.fstat(self.descriptor).st_mode):
            os.ftruncate(self.descriptor, 0)
        self.untouched = False
        if self.made:
            keep(self.made)


@contextlib.contextmanager
def opened_output(path: str | Path | None) -> Iterator[Output]:
    """Yields the file to write, or standard output if `path` is None or "-".

    After an error before the first write, an existing file is unchanged, and a new one is removed.
    """
    if path in (None, STANDARD):
        if sys.stdout is None:
            raise CpunmtError("standard output is closed; give a file")
        yield Output(1, False)
        return
    made = _made_by_opening(path)
    if made is None:
        descriptor = _open(path, os.O_WRONLY, "output")
    else:
        descriptor = begin(made, lambda: _open(path, os.O_WRONLY | os.O_CREAT, "output"))
    output = Output(descriptor, True, made)
    try:
        yield output
        with stream_errors("cannot write the output"):
            output.finish()
    except BaseException:
        if made and output.untouched:
            with contextlib.suppress(OSError):
                finish(made, lambda: os.unlink(made))
        raise
    finally:
        os.close(descriptor)


def _made_by_opening(path: str | Path) -> str | None:
    """Returns the path of the file that opening `path` creates, through links; None if it exists."""
    try:
        return None if os.path.exists(path) else os.path.realpath(path)
    except ValueError:  # a NUL in the path: opening it fails
        return None


def _open(path: str | Path, flags: int, role: str) -> int:
    try:
        return os.open(path, flags, 0o666)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise CpunmtError(f"{path}: cannot open the {role}: {getattr(error, 'strerror', error)}") from None


def _refuse_directory(path: str, descriptor: int) -> None:
    """Raises CpunmtError for a directory: opening it succeeds, and reading it would fail too late."""
    if stat.S_ISDIR(os.fstat(descriptor).st_mode):
        raise CpunmtError(f"{path}: cannot open the input: it is a directory, expected a file of text")


def refuse_same_file(read_from: int, output: Output, path: str | None) -> None:
    """Raises CpunmtError if input and output are the same file: reading would never end."""
    found = os.fstat(read_from)
    if stat.S_ISREG(found.st_mode) and os.path.samestat(found, os.fstat(output.descriptor)):
        name = "standard output" if path in (None, STANDARD) else path
        raise CpunmtError(f"{name}: is input and output; choose another name for the output")


def input_windows(descriptor: int, first: int, most: int) -> Iterator[list[bytes]]:
    """Yields windows as `line_stream.read_windows` does.

    Raises CpunmtError if reading fails, or if the first line is not text: of a ZIP archive, of a PDF, UTF-16, or a
    quarter NUL.
    """
    with stream_errors("cannot read the input"):
        for number, window in enumerate(read_windows(descriptor, first, most)):
            if number == 0 and window[0].startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                raise CpunmtError("the input is UTF-16, expected UTF-8; `cpunmt translate-file FILE` reads both")
            if number == 0 and (window[0].startswith(_DOCUMENTS) or 4 * window[0].count(b"\0") > len(window[0])):
                raise CpunmtError(
                    "the input is a document or other binary data, expected lines of UTF-8 text; `cpunmt "
                    "translate-file FILE` translates documents"
                )
            yield window


def no_bar() -> AbstractContextManager[Callable[[int], object]]:
    """Returns a replacement of `line_bar` without a bar."""
    return contextlib.nullcontext(lambda lines: None)


@contextlib.contextmanager
def line_bar(read_from: int, write_to: int) -> Iterator[Callable[[int], object]]:
    """Yields a function to call with the number of further lines; shows a bar on a terminal, for files."""
    if os.isatty(write_to) or os.isatty(read_from) or not is_watched():
        yield lambda lines: None
        return
    with progress_bar(total=count_lines(read_from), unit=" lines", dynamic_ncols=True) as bar:
        yield bar.update


def report_replaced(count: int) -> None:
    """Reports on stderr that U+FFFD was read `count` times for bytes that are not UTF-8."""
    if count:
        say(f"cpunmt: the input is not all UTF-8: {count} times U+FFFD was read instead")
