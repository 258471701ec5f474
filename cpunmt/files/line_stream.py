"""Reads lines as bytes when they arrive, and writes them at once.

Only a line feed ends a line; other line breaks of Unicode or Python (carriage return, form feed, U+2028)
are text. Files are read and written by descriptor, without Python's buffers. So Ctrl-C loses no buffered data, and
no buffer can fail when the interpreter shuts down on a closed pipe.
"""

import os
import queue
import select
import stat
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from cpunmt.errors import CpunmtError

MOST_LINE = 16 << 20  # bytes of a line: the pieces and translations of one this long take 1.2 GB
_CHUNK = 1 << 16  # bytes read at once
_CHUNKS = 16  # the most chunks read ahead
_MOST_BYTES = 1 << 20  # a window stops after this many bytes, to limit memory
_Chunks: TypeAlias = "queue.Queue[list[bytes] | bool | BaseException]"  # True: the end


def read_windows(descriptor: int, first: int, most: int) -> Iterator[list[bytes]]:
    """Yields the lines of a file, without their line feeds, in lists ("windows").

    Windows of a regular file are full. A window of a pipe or terminal has the lines that have arrived, at least
    one, so that no line waits for a later one. Another thread reads ahead.

    Parameters
    ----------
    first, most : the most lines in the first window, and in any; each may be twice as long as the one before

    Raises
    ------
    OSError, CpunmtError
        The file cannot be read, or has a line of more than MOST_LINE bytes; earlier lines have been yielded.
    MemoryError
        In this thread, or in the one that reads ahead.
    """
    chunks: _Chunks = queue.Queue(_CHUNKS)
    start_thread(_read_ahead, descriptor, chunks)
    patient = stat.S_ISREG(os.fstat(descriptor).st_mode)
    lines: list[bytes] = []
    end: bool | BaseException | None = None
    size = first
    while lines or end is None:
        room = _MOST_BYTES - sum(map(len, lines))
        while end is None and len(lines) < size and room > 0:
            try:
                chunk = chunks.get(block=patient or not lines)
            except queue.Empty:
                break
            if isinstance(chunk, list):
                lines += chunk
                room -= sum(map(len, chunk))
            else:
                end = chunk
        if lines:
            window, lines = lines[:size], lines[size:]
            yield window
            size = min(2 * size, most)
    if isinstance(end, BaseException):
        raise end


def start_thread(work: Callable[..., object], *arguments: object) -> None:
    """Starts a thread that does not keep the process alive. Raises CpunmtError if the system allows no more threads."""
    try:
        threading.Thread(target=work, args=arguments, name="cpunmt", daemon=True).start()
    except RuntimeError:
        raise CpunmtError("the system allows no further thread; see ulimit -u and ulimit -v") from None


def _read_ahead(descriptor: int, chunks: _Chunks) -> None:
    """Puts lists of lines into `chunks`, and at the end True or the error; every error is passed on."""
    try:
        for lines in _split(iter(lambda: _read(descriptor), b"")):
            chunks.put(lines)
        chunks.put(True)
    except BaseException as error:
        error.__traceback__ = None  # which may hold memory that is now scarce
        chunks.put(error)


def _read(descriptor: int) -> bytes:
    """Reads up to _CHUNK bytes; b"" at the end. Waits for a descriptor that does not block."""
    while True:
        try:
            return os.read(descriptor, _CHUNK)
        except BlockingIOError:
            _wait(descriptor, select.POLLIN)


def _wait(descriptor: int, event: int) -> None:
    waiting = select.poll()
    waiting.register(descriptor, event)
    waiting.poll()


def _split(blocks: Iterable[bytes]) -> Iterator[list[bytes]]:
    begun, size, number = [], 0, 1  # chunks of an unfinished line, their bytes, and its line number
    for block in blocks:
        rest, end, others = block.partition(b"\n")
        begun.append(rest)
        size += len(rest)
        if size > MOST_LINE:
            raise CpunmtError(f"line {number} of the input has more than {MOST_LINE} bytes; is it a text?")
        if end:
            lines = others.split(b"\n")
            last = lines.pop()
            yield [b"".join(begun), *lines]
            number += 1 + len(lines)
            begun, size = [last], len(last)
    if size:
        yield [b"".join(begun)]


def count_lines(descriptor: int) -> int | None:
    """Counts the lines from here to the end of a regular file, and keeps its position; None for a pipe or a
    terminal."""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        return None
    offset, count, last = os.lseek(descriptor, 0, os.SEEK_CUR), 0, b"\n"
    while block := os.pread(descriptor, 1 << 20, offset):
        count += block.count(b"\n")
        offset += len(block)
        last = block[-1:]
    return count + (last != b"\n")


def decode_line(line: bytes) -> tuple[str, int]:
    """Decodes a line; returns its text and how many U+FFFD replace bytes that are not UTF-8.

    Drops a carriage return at the end, as in files from Windows.
    """
    line = line.removesuffix(b"\r")
    try:
        return line.decode(), 0
    except UnicodeDecodeError:
        text = line.decode(errors="replace")
        return text, text.count("\ufffd") - line.count("\ufffd".encode())


def encode_text(text: str) -> bytes:
    """Encodes any text as UTF-8 without line feeds."""
    return text.replace("\n", " ").encode(errors="replace")


def encode_line(text: str) -> bytes:
    """Encodes a text as one line."""
    return encode_text(text) + b"\n"


def write_all(descriptor: int, data: bytes) -> None:
    """Writes all of `data`, waiting until the reader takes it.

    Raises OSError (BrokenPipeError if the reader has left), whose `characters_written` is the number of bytes written.
    """
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:
            _wait(descriptor, select.POLLOUT)
        except OSError as error:
            error.characters_written = len(data) - len(rest)  # type: ignore[attr-defined]
            raise
