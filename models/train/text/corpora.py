"""Training data: a YAML file with the files of each corpus, and their columns of each language.

    train:
      captions: {file: captions.tsv.gz, en: [0], de: [1]}
      news: {file: news.tsv.gz, en: [1], de: [2, 3, 4, 5, 6], repeat: 2}
    development:
      news: {file: news.tsv.gz, en: [1], de: [2], where: {column: 0, is: "13"}, every: 10}

Files hold one example a line, tab-separated, and may be packed with gzip or zstd. Several columns of one language hold
texts of the same meaning: an epoch takes a random one of each language. For development and test, the first source and
all targets (references) are used. `repeat` is the number of occurrences of a line in an epoch (whole number or
fraction); `where` and `every` choose lines; `before` precedes each source: the name of the target language, `>>de<<`,
for a model with several. `segmentations` is the number of other segmentations of each source, drawn by their
probability: subword regularization (Kudo 2018, https://aclanthology.org/P18-1007). `held_out` removes the texts of the
other sections from `train`.
"""

import io
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import yaml

from cpunmt.files.input_files import open_expanded

SECTIONS = ("train", "development", "test")
_OPTIONS = {"file", "repeat", "where", "every", "before", "segmentations"}


class Example(NamedTuple):
    """Texts of one meaning."""

    sources: tuple[str, ...]
    targets: tuple[str, ...]


class Corpus(NamedTuple):
    """The examples of one entry."""

    name: str
    examples: list[Example]
    repeat: float = 1.0
    segmentations: int = 0  # of each source, beside the most probable one


def read_corpora(description: Path, section: str, source: str, target: str, data: Path) -> list[Corpus]:
    """Reads the corpora of a section of the YAML file `description`, from language `source` to `target`; files are in
    `data`.

    Skips entries without one of the languages, and empty texts. Raises ValueError for a wrong description,
    FileNotFoundError for a missing file.
    """
    entries = yaml.safe_load(description.read_text("utf-8"))
    unknown = sorted(set(entries) - set(SECTIONS))
    if unknown or section not in entries:
        raise ValueError(f"{description}: sections {', '.join(entries)}; expected {section}, of {', '.join(SECTIONS)}")
    found = []
    for name, entry in entries[section].items():
        languages = set(entry) - _OPTIONS
        if "file" not in entry or not all(isinstance(entry[language], list) for language in languages):
            raise ValueError(
                f"{description}: {section}: {name}: expected file, and for each language a list of columns"
            )
        if {source, target} <= languages:
            rows = _rows(data / entry["file"], entry.get("where"), entry.get("every", 1))
            examples = [_example(row, entry[source], entry[target], data / entry["file"]) for row in rows]
            if name_of_target := entry.get("before"):
                named = [tuple(f"{name_of_target} {text}" for text in example.sources) for example in examples]
                examples = [Example(*pair) for pair in zip(named, (e.targets for e in examples), strict=True)]
            examples = [example for example in examples if example.sources and example.targets]
            segmentations = entry.get("segmentations", 0)
            if not isinstance(segmentations, int) or segmentations < 0:
                raise ValueError(
                    f"{description}: {section}: {name}: segmentations is {segmentations}, expected 0 or a larger whole "
                    "number"
                )
            found.append(Corpus(name, examples, float(entry.get("repeat", 1)), segmentations))
    return found


def read_lines(path: Path) -> Iterator[str]:
    """Yields the lines of a text file, packed or not, without their ends. Raises OSError, ModelFileError."""
    if path.stat().st_size == 0:
        return
    content = open_expanded(path, "sentence pairs", sys.maxsize, ratio=math.inf)
    with io.TextIOWrapper(content, encoding="utf-8", newline="\n") as file:  # closes both
        for line in file:
            yield line.rstrip("\n")


def _rows(path, where, every) -> Iterator[list[str]]:
    taken = 0
    for line in read_lines(path):
        row = line.split("\t")
        if where is not None and row[where["column"]] != str(where["is"]):
            continue
        taken += 1
        if (taken - 1) % every == 0:
            yield row


def _example(row, sources, targets, path):
    needed = max(sources[0], targets[0])
    if needed >= len(row):
        raise ValueError(f"{path}: a line of {len(row)} columns, expected one with column {needed}: {row}")
    texts = [
        tuple(row[c].strip() for c in columns if c < len(row) and row[c].strip()) for columns in (sources, targets)
    ]
    return Example(*texts)
