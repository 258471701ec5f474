"""Sentence pairs for a shortlist: read from text files, plain or packed (gzip, zstd), as ids in flat arrays.

Two files of equal length, or one of tab-separated columns: "news.tsv.gz:2,3-7" has the source in column 2 and five
translations of it, which together have the weight of one. "3-" means column 3 and all after it.
"""

import itertools
import math
import os
import re
import stat
import sys
from array import array
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from cpunmt.errors import ModelFileError
from cpunmt.files.input_files import open_expanded, packing
from cpunmt.text.vocabularies.piece_vocabulary import AnyVocabulary

_COLUMNS = re.compile(r"\d{1,6}(,\d{1,6}(-(\d{1,6})?)?)+")
_REPORT = 1000  # lines between two reports of progress


class Table(NamedTuple):
    """A file with columns; they count from 1, and `targets` are ranges of them."""

    path: str
    source: int
    targets: tuple[range, ...]
    open_end: int | None  # all columns from here on are translations too


class TwoFiles(NamedTuple):
    """A file for each language, line by line."""

    source: str
    target: str


class Corpus(NamedTuple):
    """Sentence pairs as ids, without end-of-sentence ids."""

    source: np.ndarray  # (source pieces,) int32
    source_ends: np.ndarray  # (pairs + 1,) int64: pair k is source[source_ends[k] : source_ends[k + 1]]
    target: np.ndarray
    target_ends: np.ndarray
    weights: np.ndarray  # (pairs,) float32

    @property
    def pairs(self) -> int:
        return self.weights.size


def parse_table(text: str) -> Table:
    """Parses "FILE" or "FILE:SOURCE,TARGET...". Raises ValueError for invalid columns."""
    path, separator, columns = text.rpartition(":")
    if not separator or not re.fullmatch(r"[\d,-]+", columns):
        return Table(text, 1, (range(2, 3),), None)
    if not _COLUMNS.fullmatch(columns):
        raise ValueError(f"{text!r}: columns are {columns!r}, expected numbers from 1: 1,2 or 2,3-7 or 1,2-")
    source, *others = columns.split(",")
    ranges, open_end = [], None
    for part in others:
        first, dash, last = part.partition("-")
        if dash and not last:
            open_end = int(first) if open_end is None else min(open_end, int(first))
        else:
            ranges.append(range(int(first), int(last or first) + 1))
    taken = [column for numbers in ranges for column in numbers]
    if int(source) < 1 or not all(ranges) or 0 in taken or open_end == 0 or len(taken) != len(set(taken)):
        raise ValueError(f"{text!r}: columns count from 1, ranges rise, and a translation is named once")
    if int(source) in taken or (open_end is not None and max([int(source), *taken]) >= open_end):
        raise ValueError(f"{text!r}: a column is named twice, expected the source and its translations")
    return Table(path, int(source), tuple(ranges), open_end)


def read_rows(file: Table | TwoFiles) -> Iterator[tuple[str, list[str]]]:
    """Yields (source, its translations) of each line; skips blank translations.

    Raises
    ------
    ValueError
        The file is missing, packed and damaged, the two have different lengths, or a line lacks a column.
    """
    if isinstance(file, TwoFiles):
        yield from _two_files(file)
        return
    last = max([file.source, *(numbers[-1] for numbers in file.targets)])
    for number, line in enumerate(_lines(file.path), 1):
        fields = line.split("\t")
        if len(fields) < last:
            raise ValueError(f"{file.path}: line {number} has {len(fields)} columns, expected at least {last}")
        found = [fields[column - 1] for numbers in file.targets for column in numbers]
        if file.open_end is not None:
            found += fields[file.open_end - 1 :]
        yield fields[file.source - 1], [text for text in found if text.strip()]


def _two_files(file: Any) -> Iterator[Any]:
    for number, (source, target) in enumerate(itertools.zip_longest(_lines(file.source), _lines(file.target))):
        if source is None or target is None:
            shorter, longer = (file.source, file.target) if source is None else (file.target, file.source)
            raise ValueError(
                f"{shorter}: ends after {number} lines, {longer} goes on; expected files of equal length, whose "
                "lines belong together"
            )
        yield source, [target] if target.strip() else []


def _lines(path: Any) -> Iterator[Any]:
    """Yields the text of each line, without its line feed; U+FFFD replaces bytes that are not UTF-8."""
    try:
        with _opened(path) as content:
            for line in content:
                yield line.rstrip(b"\r\n").decode("utf-8", "replace")
    except FileNotFoundError:
        raise ValueError(f"{path}: not found; expected a text file, plain or packed with gzip or zstd") from None
    except ModelFileError as error:
        raise ValueError(str(error)) from None
    except OSError as error:
        raise ValueError(f"{path}: cannot be read: {error.strerror or error}") from None


def _opened(path: Any) -> Any:
    """Opens a file of any size, expanding a packed one gradually, so that only its lines need memory."""
    status = os.stat(path)
    if stat.S_ISREG(status.st_mode) and status.st_size:
        return open_expanded(path, "sentence pairs", sys.maxsize, ratio=math.inf)
    file = open(path, "rb")  # noqa: SIM115  the caller closes it
    if packed := packing(file.peek(4)[:4]):
        file.close()
        raise ValueError(f"{path}: a pipe of {packed} data; unpack it on the way, or name the file")
    return file


def read_corpus(
    files: Any,
    source_vocabulary: AnyVocabulary,
    target_vocabulary: AnyVocabulary,
    longest: Any = 250,
    progress: Any = lambda lines: None,
) -> tuple[Corpus, int]:
    """Returns the sentence pairs of all files as ids, and the number of skipped ones: blank, or with over `longest`
    pieces.

    Raises ValueError if nothing is left, and as `read_rows`.
    """
    ids = [array("i"), array("i")]
    ends = [array("q", [0]), array("q", [0])]
    weights, left_out, unreported = array("f"), 0, 0
    for file in files:
        for text, translations in read_rows(file):
            unreported += 1
            if unreported == _REPORT:
                progress(unreported)
                unreported = 0
            source = source_vocabulary.encode(text)[:-1]
            found = [target_vocabulary.encode(translation)[:-1] for translation in translations]
            kept = [target for target in found if 0 < len(target) <= longest]
            if not 0 < len(source) <= longest:
                kept = []
            left_out += max(len(translations), 1) - len(kept)
            for target in kept:
                for side, pieces in enumerate((source, target)):
                    ids[side].extend(pieces)
                    ends[side].append(len(ids[side]))
                weights.append(1 / len(kept))
    progress(unreported)
    if not weights:
        names = ", ".join(
            str(name) for file in files for name in (file[:2] if isinstance(file, TwoFiles) else file[:1])
        )
        raise ValueError(
            f"{names}: no sentence pair is left, {left_out} were blank or longer than {longest} pieces; expected text"
        )
    sides = [(np.frombuffer(ids[side], np.int32), np.frombuffer(ends[side], np.int64)) for side in (0, 1)]
    return Corpus(*sides[0], *sides[1], np.frombuffer(weights, np.float32)), left_out
