"""Files of lines that take long to make: finished lines stay, and another call makes the rest."""

import gzip
from collections.abc import Callable, Iterable
from pathlib import Path

from tqdm import tqdm

from cpunmt.files.output_files import replacing_file


def write_lines(path: Path, items: list, make: Callable[[list, int], list[list[str]]], window: int = 256):
    """Writes the rows of columns from `make(some items, number of the first)`, in order, as a gzipped TSV file.

    `make` returns one list of rows for all its items, and must not depend on earlier calls. A complete file stays as it
    is. Until then `.NAME.partial` holds the finished windows, each ended by an empty line.
    """
    if path.exists():
        return
    partial = path.with_name(f".{path.name}.partial")
    done = _windows_done(partial)
    with open(partial, "r+" if partial.exists() else "w", encoding="utf-8", newline="\n") as file:
        file.seek(done.bytes)
        file.truncate()
        starts = range(done.windows * window, len(items), window)
        for start in tqdm(
            starts, initial=done.windows, total=done.windows + len(starts), desc=path.name, mininterval=5
        ):
            rows = make(items[start : start + window], start)
            file.write("".join("\t".join(_one_line(text) for text in row) + "\n" for row in rows) + "\n")
            file.flush()
    write_pairs(path, ((line,) for line in partial.read_text("utf-8").split("\n") if line))
    partial.unlink()


def write_pairs(path: Path, pairs: Iterable[tuple[str, ...]]):
    """Writes rows of texts as a gzipped TSV file, the same bytes each time."""
    with replacing_file(path) as file, gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
        for row in pairs:
            packed.write(("\t".join(row) + "\n").encode())


class _Done:
    """The complete part of a partial file."""

    def __init__(self, windows, size):
        self.windows, self.bytes = windows, size


def _windows_done(partial) -> _Done:
    """Counts the windows that end with their empty line; a window after them is unfinished."""
    if not partial.exists():
        return _Done(0, 0)
    windows, whole, at = 0, 0, 0
    with open(partial, "rb") as file:
        for line in file:
            at += len(line)
            if line == b"\n":
                windows, whole = windows + 1, at
    return _Done(windows, whole)


def _one_line(text):
    return " ".join(text.split())
