"""Rows that are lines: a text each, or tab-separated texts."""

from __future__ import annotations

from collections.abc import Iterator

from cpunmt.corpora.inputs.lines import decoded
from cpunmt.corpora.inputs.rows import Made, Rows
from cpunmt.corpora.job import Job
from cpunmt.errors import CpunmtError
from cpunmt.files.line_stream import encode_line


def read_text(payload: bytes, job: Job, where: str, first: int) -> Rows:
    """Reads a text from each line, without the carriage return of files from Windows."""
    lines = decoded(payload, where, first)
    if b"\r" in payload:
        lines = [line.removesuffix("\r") for line in lines]
    return Rows(lines, None)


def write_text(rows: Rows, made: Made, job: Job) -> bytes:
    """Writes a line for each row, empty if it is flagged."""
    (texts,) = made.columns.values()
    return b"".join(b"\n" if made.flagged(row) else encode_line(str(text)) for row, text in enumerate(texts))


def read_tsv(payload: bytes, job: Job, where: str, first: int) -> Rows:
    """Reads source, tab, target from each line; further columns stay as they are; a blank line is two blank sides.

    Raises CpunmtError for a line without a tab.
    """
    lines = [line.removesuffix("\r") for line in decoded(payload, where, first)]
    sources, targets = [], []
    for number, line in enumerate(lines, first):
        source, tab, rest = line.partition("\t")
        if not tab and line.strip():
            raise CpunmtError(f"{where}: line {number} has no tab, expected source, tab, target")
        sources.append(source)
        targets.append(rest.partition("\t")[0])
    return Rows(sources, targets, lines)


def write_tsv(rows: Rows, made: Made, job: Job) -> bytes:
    """Returns each line with its score as one more column; a flagged one is empty, or left out."""
    return b"".join(_tsv_lines(rows, made, job))


def _tsv_lines(rows: Rows, made: Made, job: Job) -> Iterator[bytes]:
    (scores,) = made.columns.values()
    for row, (line, score) in enumerate(zip(rows.held, scores, strict=True)):
        if not made.flagged(row):
            blank = "" if "\t" in line else "\t"  # two blank sides
            yield f"{line}{blank}\t{score:g}\n".encode()
        elif not job.drop:
            yield b"\n"
