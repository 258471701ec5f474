"""The kinds of inputs: their names, and how they are cut, read and written."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from cpunmt.corpora.inputs.json_rows import read_json_lines, write_json_lines
from cpunmt.corpora.inputs.lines import count_lines, line_shards
from cpunmt.corpora.inputs.parquet_rows import count_rows, parquet_shards, pyarrow, read_parquet, write_parquet
from cpunmt.corpora.inputs.rows import Made, Rows, Shard
from cpunmt.corpora.inputs.text_rows import read_text, read_tsv, write_text, write_tsv
from cpunmt.corpora.job import Job
from cpunmt.corpora.sidecar import sidecar_of
from cpunmt.errors import CpunmtError
from cpunmt.files.input_files import ENDINGS, zstd_module

_LEVEL = 6  # of gzip
_MOST_PARTS = 100_000
_LONGEST = 255  # bytes of a name
_OTHERS = (".xz", ".bz2", ".lz4", ".br", ".zip", ".7z")  # unsupported compression
_KINDS = {".jsonl": "json", ".ndjson": "json", ".parquet": "parquet", ".tsv": "tsv"}  # others are text


class Kind(NamedTuple):
    """The functions of a kind of input.

    shards    yields a file's shards of a number of rows
    count     counts a file's rows
    read      reads a shard: payload, job, and for messages the file's name and the first line's number
    write     returns the bytes of a part
    has_rows  whether a flagged row may be left out, with all its columns
    """

    shards: Callable[[str, int], Iterator[Shard]]
    count: Callable[[str], int]
    read: Callable[[bytes, Job, str, int], Rows]
    write: Callable[[Rows, Made, Job], bytes]
    has_rows: bool


KINDS = {
    "text": Kind(line_shards, count_lines, read_text, write_text, False),
    "tsv": Kind(line_shards, count_lines, read_tsv, write_tsv, True),
    "json": Kind(line_shards, count_lines, read_json_lines, write_json_lines, True),
    "parquet": Kind(parquet_shards, count_rows, read_parquet, write_parquet, True),
}


class Corpus(NamedTuple):
    """An input.

    path    as it was given
    kind    one of KINDS
    stem    the names of its parts before the number
    ending  and after it: .txt.gz
    """

    path: str
    kind: str
    stem: str
    ending: str

    def part(self, number: int) -> str:
        """Returns the name of a part's file. Raises CpunmtError if there are too many parts for names in order."""
        if number >= _MOST_PARTS:
            raise CpunmtError(f"{self.path}: has more than {_MOST_PARTS} parts; make larger ones (shard_rows=N)")
        return f"{self.stem}.{number:05}{self.ending}"


def corpus_of(path: str, scored: bool) -> Corpus:
    """Returns the input of this name. `scored`: a .tsv is pairs; else it is lines of text."""
    name = os.path.basename(path)
    root, packed = os.path.splitext(name)
    if packed.lower() not in ENDINGS:
        root, packed = name, ""
    if os.path.splitext(name)[1].lower() in _OTHERS:
        raise CpunmtError(f"{path}: is packed in a way that is not read; expected .gz, .zst, or unpacked")
    stem, ending = os.path.splitext(root)
    kind = _KINDS.get(ending.lower(), "text")
    if scored and kind == "text":
        raise CpunmtError(f"{path}: pairs to score are in .tsv, .jsonl or .parquet; this name ends with none of them")
    if not scored and kind == "tsv":
        raise CpunmtError(f"{path}: .tsv is for cpunmt batch --score; expected a text, .jsonl or .parquet")
    if kind == "parquet":
        if packed:
            raise CpunmtError(f"{path}: Parquet packs its columns itself; unpack the file first")
        pyarrow()
    return Corpus(path, kind, stem, ending + packed)


def corpora_of(paths: Sequence[str], folder: str, scored: bool) -> list[Corpus]:
    """Returns the inputs, checked before any work.

    Raises CpunmtError for one that is not a file, lies in the folder of the parts, is of an unsuitable kind, or whose
    parts would have the names of another's.
    """
    found: dict[tuple[str, str], Corpus] = {}
    for path in paths:
        if not os.path.isfile(path):
            what = "is not a file" if os.path.exists(path) else "does not exist"
            raise CpunmtError(
                f"{path}: {what}; expected files of text, .jsonl, .parquet or .tsv, each also .gz or .zst"
            )
        if os.path.dirname(os.path.realpath(path)) == os.path.realpath(folder):
            raise CpunmtError(f"{path}: lies in {folder}, where the parts are written; choose another (out=DIR)")
        corpus = corpus_of(path, scored)
        if len(os.fsencode(sidecar_of(corpus.part(0)))) > _LONGEST:
            raise CpunmtError(f"{path}: its name is too long to add a part's number; rename it")
        other = found.setdefault((corpus.stem, corpus.ending), corpus)
        if other is not corpus:
            raise CpunmtError(
                f"{path}: its parts would be called {corpus.part(0)}, as those of {other.path}; rename one, or run "
                "twice with two directories"
            )
    return list(found.values())


def packed(content: bytes, name: str) -> bytes:
    """Compresses by the file's name: .gz, .zst, or not. Returns the same bytes at any time."""
    ending = os.path.splitext(name)[1].lower()
    if ending == ".gz":
        return gzip.compress(content, _LEVEL, mtime=0)
    if ending == ".zst":
        try:
            return zstd_module().compress(content)  # type: ignore[no-any-return]
        except ImportError:
            raise CpunmtError(f"{name}: this Python cannot write zstd; run: pip install backports.zstd") from None
    return content
