"""The output of commands: results on standard output, one line of errors on standard error.

It is written at once, past Python's buffers, so that nothing can fail when the interpreter shuts down.
"""

import contextlib
import sys
import threading
from collections.abc import Iterable, Iterator
from typing import Any

from cpunmt.errors import CpunmtError
from cpunmt.files.line_stream import write_all


def tell(*lines: str) -> None:
    """Writes lines to standard output, with escapes for characters that its encoding lacks.

    Raises CpunmtError if they cannot be written, BrokenPipeError if the reader has closed the stream.
    """
    if sys.stdout is None:
        raise CpunmtError("standard output is closed")
    with stream_errors("cannot write the output"):
        _write(sys.stdout, "".join(f"{line}\n" for line in lines))


@contextlib.contextmanager
def stream_errors(problem: str) -> Iterator[None]:
    """Converts errors of a stream to a CpunmtError that begins with `problem`; BrokenPipeError passes unchanged."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CpunmtError(f"{problem}: {error.strerror}") from None


def say(text: str) -> None:
    """Writes a line to standard error, if it is open."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            _write(sys.stderr, f"{text}\n")


def one_line(error: BaseException) -> str:
    """Returns the message of an error, for `say`."""
    text = "; ".join(line.strip() for line in str(error).splitlines() if line.strip())
    if isinstance(error, MemoryError):
        return f"out of memory: {text}" if text else "out of memory"
    return text or type(error).__name__


def is_watched() -> bool:
    """Returns whether a terminal shows standard error, where a progress bar is useful."""
    return sys.stderr is not None and sys.stderr.isatty()


def progress_bar(items: Iterable[Any] | None = None, **settings: Any) -> Any:
    """Returns tqdm's bar on standard error, which counts along `items` or by calls of `update`."""
    from tqdm import tqdm  # 30 ms that most starts do not need

    class Bar(tqdm):  # type: ignore[misc, type-arg, unused-ignore]
        """A bar with its own lock: tqdm's is shared between processes, and Python 3.14 would report it as leaked."""

    Bar.monitor_interval = 0  # no thread of its own
    Bar.set_lock(threading.RLock())
    return Bar(items, file=sys.stderr, **settings)


def _write(stream: Any, text: str) -> None:
    try:
        stream.flush()
        descriptor = stream.fileno()
    except (OSError, ValueError, AttributeError):  # no file: a test's, a notebook's
        stream.write(text)
        return
    encoding = stream.encoding or "utf-8"
    try:
        data = text.encode(encoding, "surrogateescape")  # bytes of file names that are not text stay as they are
    except UnicodeEncodeError:
        data = text.encode(encoding, "backslashreplace")
    write_all(descriptor, data)
