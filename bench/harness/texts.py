"""Texts and models to measure with: whole lines, or segments of some number of words."""

import gzip
import random
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ROOT / "models" / "ende-tiny"
STUDENT = ROOT / "models" / "ende-student"  # smaller; its float32 weights are in the repository too
SENTENCES = ROOT / "tests" / "golden" / "sentences.en.txt"


def text_lines(path: Path = SENTENCES) -> list[str]:
    """Returns the lines of a plain text."""
    return path.read_text(encoding="utf8").split("\n")[:-1]


def tsv_rows(path: Path) -> Iterator[list[str]]:
    """Yields the columns of each line of a TSV, packed by gzip or not."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf8", newline="\n") as lines:
        for line in lines:
            yield line.rstrip("\n").split("\t")


def count_words(lines: Iterable[str]) -> int:
    """Returns the number of words, separated by white space."""
    return sum(len(line.split()) for line in lines)


def read_test(test: str, count: int) -> tuple[list[str], list[str]]:
    """Returns the first `count` sources of the set [NAME=]FILE, and the first reference of each."""
    from quantize.evaluation.evaluation_set import named_set, read_evaluation_set

    found = read_evaluation_set(*named_set(test))
    return found.sources[:count], [references[0] for references in found.references[:count]]


def sentences_of(path: Path, count: int) -> list[str]:
    """Returns at most `count` lines of `read_lines` that are not empty, evenly spaced."""
    return evenly([line for line in read_lines(path) if line.strip()], count)


def read_lines(path: Path) -> list[str]:
    """Returns the lines of a text, or the first column of lines with tabs; it may be packed (.gz, .zst).

    Raises CpunmtError for a file that is missing or not text.
    """
    from quantize.evaluation.evaluation_set import read_evaluation_set

    return [line.split("\t")[0] for line in read_evaluation_set("lines", path).sources]


def evenly(lines: list[str], count: int) -> list[str]:
    """Returns at most `count` of the lines, evenly spaced."""
    return lines[:: max(1, len(lines) // count)][:count]


def segments(lines: list[str], low: int, high: int, count: int) -> list[str]:
    """Returns `count` segments of `low` to `high` words, all numbers equally often, by a fixed seed.

    Each begins where a line begins and continues into the next ones if it has more words.
    """
    generator = random.Random(1)
    return of_lengths(lines, [generator.randint(low, high) for _ in range(count)])


def of_lengths(lines: list[str], lengths: list[int]) -> list[str]:
    """Returns a segment of each number of words, evenly spaced over the lines; each begins where a line begins."""
    found = []
    words = [line.split() for line in lines]
    words = [line for line in words if line]
    for number, wanted in enumerate(lengths):
        place = number * len(words) // len(lengths)
        segment: list[str] = []
        while len(segment) < wanted:
            segment += words[place % len(words)]
            place += 1
        found.append(" ".join(segment[:wanted]))
    return found


def length_range(text: str) -> tuple[int, int]:
    """Parses `LOW-HIGH`, numbers of words; raises ValueError for anything else."""
    low, _, high = text.partition("-")
    if not (low.isascii() and low.isdigit() and high.isascii() and high.isdigit() and 1 <= int(low) <= int(high)):
        raise ValueError(f"{text!r} is not LOW-HIGH, numbers of words such as 5-9")
    return int(low), int(high)
