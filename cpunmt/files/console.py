"""What commands say to whoever started them: results on standard output, one line on standard error.

Written at once, past Python's buffers: nothing is left that could fail when the interpreter shuts down.
"""

import contextlib
import sys
import threading

from cpunmt.errors import CpunmtError
from cpunmt.files.line_stream import write_all


def tell(*lines: str):
    """Write lines to standard output; letters that its encoding lacks, as escapes.

    Raises CpunmtError if they cannot be written, BrokenPipeError if nobody reads them.
    """
    if sys.stdout is None:
        raise CpunmtError("standard output is closed")
    with stream_errors("cannot write the output"):
        _write(sys.stdout, "".join(f"{line}\n" for line in lines))


@contextlib.contextmanager
def stream_errors(problem: str):
    """What goes wrong with a stream, as a CpunmtError that begins with `problem`; BrokenPipeError stays what it is."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CpunmtError(f"{problem}: {error.strerror}") from None


def say(text: str):
    """Write a line to standard error, if there is someone to hear it."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            _write(sys.stderr, f"{text}\n")


def one_line(error: BaseException) -> str:
    """What an error says, for `say`."""
    text = "; ".join(line.strip() for line in str(error).splitlines() if line.strip())
    if isinstance(error, MemoryError):
        return f"out of memory: {text}" if text else "out of memory"
    return text or type(error).__name__


def is_watched() -> bool:
    """Whether a terminal shows standard error, so that someone may see a progress bar."""
    return sys.stderr is not None and sys.stderr.isatty()


def progress_bar(items=None, **settings):
    """tqdm's bar on standard error, with its settings: it counts along `items`, or what its `update` is told."""
    from tqdm import tqdm  # 30 ms that most starts do not need

    class Bar(tqdm):
        """With a lock of its own: tqdm's is one between processes, too, which Python 3.14 would tell of as leaked."""

    Bar.monitor_interval = 0  # no thread of its own
    Bar.set_lock(threading.RLock())
    return Bar(items, file=sys.stderr, **settings)


def _write(stream, text):
    try:
        stream.flush()
        descriptor = stream.fileno()
    except (OSError, ValueError, AttributeError):  # no file: a test's, a notebook's
        stream.write(text)
        return
    encoding = stream.encoding or "utf-8"
    try:
        data = text.encode(encoding, "surrogateescape")  # names of files that are no text, as they are
    except UnicodeEncodeError:
        data = text.encode(encoding, "backslashreplace")
    write_all(descriptor, data)
