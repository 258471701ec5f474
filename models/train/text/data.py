"""Reads a run's data by the description of corpora, removes leaks and bad pairs, and reports them."""

from pathlib import Path
from typing import NamedTuple

from models.train.text.corpora import Corpus, read_corpora
from models.train.text.filters import filtered
from models.train.text.held_out import held_out, without_held_out


class Data(NamedTuple):
    """Corpora of one direction."""

    train: list[Corpus]
    development: list[Corpus]
    report: list[str]  # a line for each corpus of `train`


def read_data(description: Path, folder: Path, source: str, target: str) -> Data:
    """Reads all data of a description; `train` lacks held-out and bad texts."""
    development, test = (read_corpora(description, s, source, target, folder) for s in ("development", "test"))
    held = held_out([*development, *test])
    train, report = [], []
    for corpus in read_corpora(description, "train", source, target, folder):
        before = len(corpus.examples)
        corpus, leaks = without_held_out(corpus, held)
        corpus, faults = filtered(corpus)
        counted = ", ".join(f"{count} {fault}" for fault, count in sorted(faults.items())) or "none"
        used = f"{before} lines, {len(corpus.examples)} used; {leaks.dropped} held out"
        report.append(f"{corpus.name}: {used}; bad pairs: {counted}")
        train.append(corpus)
    return Data(train, development, report)
