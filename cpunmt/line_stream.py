"""Lines in and out as bytes: read as they come, written at once.

Only a line feed ends a line: what else Unicode or Python calls a line break (carriage return, form feed, U+2028)
is text. Files are read and written by descriptor, without Python's buffers: nothing waits in one, so there is
nothing to lose on Ctrl-C, and nothing left to fail when the interpreter shuts down on a closed pipe.
"""

import os
import queue
import stat
import threading
from collections.abc import Iterator

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
    OSError
        The file cannot be read; what came before the error has been returned.
    """
    chunks = queue.Queue(_CHUNKS)
    threading.Thread(target=_read_ahead, args=(descriptor, chunks), name="cpunmt reader", daemon=True).start()
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
    if isinstance(end, OSError):
        raise end


def _read_ahead(descriptor, chunks):
    """Put lists of lines into `chunks`, and at the end True, or the error that ended it."""
    try:
        for lines in _split(iter(lambda: os.read(descriptor, _CHUNK), b"")):
            chunks.put(lines)
        chunks.put(True)
    except OSError as error:
        chunks.put(error)


def _split(blocks) -> Iterator[list[bytes]]:
    begun = []  # what is there of a line whose end is not
    for block in blocks:
        rest, end, others = block.partition(b"\n")
        begun.append(rest)
        if end:
            lines = others.split(b"\n")
            last = lines.pop()
            yield [b"".join(begun), *lines]
            begun = [last]
    if any(begun):
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


def encode_line(text: str) -> bytes:
    """One line of UTF-8, whatever the text holds."""
    return text.replace("\n", " ").encode(errors="replace") + b"\n"


def write_all(descriptor: int, data: bytes):
    """Write all of `data` now. Raises OSError (BrokenPipeError: nobody reads any more)."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
