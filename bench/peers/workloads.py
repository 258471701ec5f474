"""What is translated: whole lines of a text, or segments of some number of words that are cut out of it."""

import random
from pathlib import Path


def read_lines(path: Path) -> list[str]:
    """Sources: the lines of a text, or the first column of lines with tabs; it may be packed (.gz, .zst).

    Raises CpunmtError for a file that is missing or no text.
    """
    from quantize.evaluation.evaluation_set import read_evaluation_set

    return [line.split("\t")[0] for line in read_evaluation_set("lines", path).sources]


def evenly(lines: list[str], count: int) -> list[str]:
    """At most `count` of the lines, evenly spaced."""
    return lines[:: max(1, len(lines) // count)][:count]


def segments(lines: list[str], low: int, high: int, count: int) -> list[str]:
    """`count` segments of `low` to `high` words, all numbers equally often, by a fixed seed.

    Each begins where a line begins and goes on into the next ones if it has more words.
    """
    generator = random.Random(1)
    return of_lengths(lines, [generator.randint(low, high) for _ in range(count)])


def of_lengths(lines: list[str], lengths: list[int]) -> list[str]:
    """Segments of so many words each, evenly spaced over the lines; each begins where a line begins."""
    found = []
    words = [line.split() for line in lines]
    words = [line for line in words if line]
    for number, wanted in enumerate(lengths):
        place, segment = number * len(words) // len(lengths), []
        while len(segment) < wanted:
            segment += words[place % len(words)]
            place += 1
        found.append(" ".join(segment[:wanted]))
    return found


def length_range(text: str) -> tuple[int, int]:
    """`LOW-HIGH` as numbers of words; raises ValueError for anything else."""
    low, _, high = text.partition("-")
    if not (low.isascii() and low.isdigit() and high.isascii() and high.isdigit() and 1 <= int(low) <= int(high)):
        raise ValueError(f"{text!r} is not LOW-HIGH, numbers of words such as 5-9")
    return int(low), int(high)
