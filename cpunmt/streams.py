"""What the commands read from and write to: files or standard streams, by descriptor; every failure is one error."""

import contextlib
import os
import sys
from collections.abc import Iterator

from cpunmt.errors import CpunmtError
from cpunmt.line_stream import count_lines, read_windows, write_all

FIRST = 64  # lines in the first window of a file: something comes out early, at little cost


def opened_input(path) -> contextlib.AbstractContextManager[int]:
    """Descriptor of the file to read, or of standard input if `path` is None."""
    return _opened(path, sys.stdin, os.O_RDONLY, "input")


def opened_output(path) -> contextlib.AbstractContextManager[int]:
    """Descriptor of the file to write, emptied, or of standard output if `path` is None."""
    return _opened(path, sys.stdout, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, "output")


@contextlib.contextmanager
def _opened(path, standard, flags, role) -> Iterator[int]:
    if path is None:
        if standard is None:
            raise CpunmtError(f"standard {role} is closed; give a file")
        yield 0 if role == "input" else 1
        return
    try:
        descriptor = os.open(path, flags, 0o666)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise CpunmtError(f"{path}: cannot open the {role}: {getattr(error, 'strerror', error)}") from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def refuse_same_file(descriptor: int, path):
    """Raise CpunmtError if what is being read is the file `path`, which is to be written."""
    with contextlib.suppress(OSError, TypeError, ValueError):  # no such file yet, or standard output
        if os.path.samestat(os.fstat(descriptor), os.stat(path)) and os.path.isfile(path):
            raise CpunmtError(f"{path}: is input and output; choose another name for the output")


def input_windows(descriptor: int, first: int, most: int) -> Iterator[list[bytes]]:
    """`line_stream.read_windows`, whose OSError becomes a CpunmtError."""
    try:
        yield from read_windows(descriptor, first, most)
    except OSError as error:
        raise CpunmtError(f"cannot read the input: {error.strerror}") from None


def write_lines(descriptor: int, data: bytes, writing):
    """Write all of `data` while `writing`, a lock, is held. Raises BrokenPipeError if nobody reads any more."""
    try:
        with writing:
            write_all(descriptor, data)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CpunmtError(f"cannot write the output: {error.strerror}") from None


@contextlib.contextmanager
def progress_bar(read_from: int, write_to: int):
    """A function to call with how many lines are done; shows a bar if someone sees it and waits."""
    if os.isatty(write_to) or os.isatty(read_from) or not sys.stderr.isatty():
        yield lambda lines: None
        return
    from tqdm import tqdm  # 30 ms that most starts do not need

    tqdm.monitor_interval = 0  # no thread of its own
    with tqdm(total=count_lines(read_from), unit=" lines", file=sys.stderr, dynamic_ncols=True) as bar:
        yield bar.update


def report_replaced(count: int):
    """Say on stderr that U+FFFD was read `count` times for bytes that are not UTF-8."""
    if count:
        print(f"cpunmt: the input is not all UTF-8: {count} times U+FFFD was read instead", file=sys.stderr)
