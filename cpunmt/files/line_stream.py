"""Lines in and out as bytes: read as they come, written at once.

Only a line feed ends a line: what else Unicode or Python calls a line break (carriage return, form feed, U+2028)
is text. Files are read and written by descriptor, without Python's buffers: nothing waits in one, so there is
nothing to lose on Ctrl-C, and nothing left to fail when the interpreter shuts down on a closed pipe.
"""

import os
import queue
import select
import stat
import threading
from collections.abc import Iterable, Iterator

from cpunmt.errors import CpunmtError

MOST_LINE = 16 << 20  # bytes of a line: the pieces and translations of so long a one take 1.2 GB
_CHUNK = 1 << 16  # bytes read at once
_CHUNKS = 16  # read ahead at most
_MOST_BYTES = 1 << 20  # a window takes no more lines after this many bytes: memory stays small


def read_windows(descriptor: int, first: int, most: int) -> Iterator[list[bytes]]:
    """The lines of a file, without their line feeds, in lists ("windows").

    Of a regular file windows are full. Of a pipe or terminal a window is what has come by now, and one line at
    least: nobody waits for a line that may not come. A thread of its own reads ahead.

    Parameters
    ----------
    first, most : lines in the first window at most, and in any: each may be twice as long as the one before

    Raises
    ------
    OSError, CpunmtError
        The file cannot be read, or has a line of more than MOST_LINE bytes; what came before has been returned.
    MemoryError
        Of this thread, or of the one that reads ahead.
    """
    chunks = queue.Queue(_CHUNKS)
    start_thread(_read_ahead, descriptor, chunks)
    patient = stat.S_ISREG(os.fstat(descriptor).st_mode)
    lines, size, end = [], first, None
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


def start_thread(work, *arguments):
    """Start a thread that does not keep the process alive. Raises CpunmtError if the system allows no more of them."""
    try:
        threading.Thread(target=work, args=arguments, name="cpunmt", daemon=True).start()
    except RuntimeError:
        raise CpunmtError("the system allows no further thread; see ulimit -u and ulimit -v") from None


def _read_ahead(descriptor, chunks):
    """Put lists of lines into `chunks`, and at the end True, or the error that ended it: nothing may end it unheard."""
    try:
        for lines in _split(iter(lambda: _read(descriptor), b"")):
            chunks.put(lines)
        chunks.put(True)
    except BaseException as error:
        error.__traceback__ = None  # nor keep the memory that there may be too little of
        chunks.put(error)


def _read(descriptor) -> bytes:
    """Up to _CHUNK bytes; nothing at the end. Of a descriptor that does not block it waits for them."""
    while True:
        try:
            return os.read(descriptor, _CHUNK)
        except BlockingIOError:
            _wait(descriptor, select.POLLIN)


def _wait(descriptor, event):
    waiting = select.poll()
    waiting.register(descriptor, event)
    waiting.poll()


def _split(blocks: Iterable[bytes]) -> Iterator[list[bytes]]:
    begun, size, number = [], 0, 1  # what is there of a line whose end is not, its bytes, and which line it is
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
    """Lines from here to the end of a regular file, whose position stays; None for a pipe or a terminal."""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        return None
    offset, count, last = os.lseek(descriptor, 0, os.SEEK_CUR), 0, b"\n"
    while block := os.pread(descriptor, 1 << 20, offset):
        count += block.count(b"\n")
        offset += len(block)
        last = block[-1:]
    return count + (last != b"\n")


def decode_line(line: bytes) -> tuple[str, int]:
    """Text of a line, and how often U+FFFD stands in it for bytes that are not UTF-8.

    A carriage return at the end, as in files from Windows, is dropped.
    """
    line = line.removesuffix(b"\r")
    try:
        return line.decode(), 0
    except UnicodeDecodeError:
        text = line.decode(errors="replace")
        return text, text.count("\ufffd") - line.count("\ufffd".encode())


def encode_text(text: str) -> bytes:
    """UTF-8 that ends no line, whatever the text holds."""
    return text.replace("\n", " ").encode(errors="replace")


def encode_line(text: str) -> bytes:
    """One line of it."""
    return encode_text(text) + b"\n"


def write_all(descriptor: int, data: bytes):
    """Writes all of `data` now, waiting for room if need be.

    Raises OSError (BrokenPipeError if the reader has left), whose `characters_written` is the number of bytes written.
    """
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:
            _wait(descriptor, select.POLLOUT)
        except OSError as error:
            error.characters_written = len(data) - len(rest)
            raise
