"""Collects the pairs of all sources: filters, leaves out what occurs twice, and writes sentences and labels."""

import re
import zlib
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from cpunmt.alignment.edits import Edit, edited
from cpunmt.sentence_layers.protection.finding import Finder
from cpunmt.sentence_layers.protection.layer import NAMES
from models.train.collection.sifting import sifted
from models.train.collection.sources import Found, Pair
from models.train.text.filters import fault
from models.train.text.held_out import normalized
from models.train.text.line_files import write_pairs

_LETTERS = re.compile(r"[^\W\d_]{2}")
_DIGITS = re.compile(r"\d+")
_ALIKE = 3  # pairs that differ in digits only
_WORDS = 4  # of a sentence, at least
_FINDER = Finder()
FILES = ("phrases", "sentences", "labels")


class Collected(NamedTuple):
    """A source's pairs that remain, and the number of pairs with each fault."""

    name: str
    kind: str
    licence: str
    pairs: list[Pair]
    faults: Counter[str]


class Collection:
    """Pairs of several sources without repetitions, the first one is kept."""

    def __init__(self) -> None:
        self._alike: Counter[tuple[str, str]] = Counter()
        self._seen: set[tuple[str, str]] = set()

    def add(self, source: Found) -> Collected:
        """Filters the pairs of one source."""
        kept: list[Pair] = []
        faults: Counter[str] = Counter()
        for pair in source.pairs:
            found = self._fault(pair)
            if found is None:
                kept.append(with_stand_ins(pair))
            else:
                faults[found] += 1
        return Collected(source.name, source.kind, source.licence, kept, faults)

    def _fault(self, pair: Pair) -> str | None:
        if found := fault(pair.source, pair.target):
            return found
        if not _LETTERS.search(pair.source) or not _LETTERS.search(pair.target):
            return "no words"
        key = normalized(pair.source), normalized(pair.target)
        alike = _DIGITS.sub("0", key[0]), _DIGITS.sub("0", key[1])
        if key in self._seen or self._alike[alike] >= _ALIKE:
            return "occurs twice"
        self._seen.add(key)
        self._alike[alike] += 1
        return None


def with_stand_ins(pair: Pair) -> Pair:
    """Returns a pair whose code, addresses and the like are names, as the engine replaces them before it translates.

    Only if both texts have the same, each once; and one pair in four stays as it is.
    """
    if zlib.crc32(pair.source.encode()) % 4 == 0:
        return pair
    sides = pair.source, pair.target
    units = [_FINDER.units(text) for text in sides]
    parts = [[text[unit.begin : unit.end] for unit in some] for text, some in zip(sides, units, strict=True)]
    names = [name for name in NAMES if not any(name in text for text in sides)]
    same = sorted(parts[0]) == sorted(parts[1]) and len(set(parts[0])) == len(parts[0])
    if not parts[0] or not same or len(parts[0]) > len(names) or any(unit.loose for some in units for unit in some):
        return pair
    chosen = dict(zip(parts[0], names, strict=False))
    made = [
        edited(text, [Edit(unit.begin, unit.end, chosen[text[unit.begin : unit.end]]) for unit in some])[0]
        for text, some in zip(sides, units, strict=True)
    ]
    return pair._replace(source=made[0], target=made[1])


def sift(found: list[Collected]) -> list[Collected]:
    """Leaves out the pairs of pages that are not translations of each other; messages have keys instead."""
    pages = [one for one in found if one.kind == "pages"]
    pairs = [pair for one in pages for pair in one.pairs]
    passes = iter(sifted([pair.source for pair in pairs], [pair.target for pair in pairs]).tolist())
    made = []
    for one in found:
        kept = [pair for pair in one.pairs if next(passes)] if one.kind == "pages" else one.pairs
        made.append(one._replace(pairs=kept, faults=one.faults + Counter({"other words": len(one.pairs) - len(kept)})))
    return made


def file_of(kind: str, text: str) -> str:
    """Returns the file that gets a pair: "phrases" for tables, "sentences" or "labels" for other kinds."""
    if kind == "tables":
        return "phrases"
    ends = text.rstrip("\"'”)»").endswith((".", "?", "!", ":", "…"))
    return "sentences" if ends and len(text.split()) >= _WORDS else "labels"


def write(found: list[Collected], folder: Path) -> None:
    """Writes phrases.tsv.gz, sentences.tsv.gz and labels.tsv.gz.

    Columns are the section (train, development or test), the source, its page, and the two texts.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        write_pairs(
            folder / f"{name}.tsv.gz",
            (
                (pair.section, one.name, pair.page, pair.source, pair.target)
                for one in found
                for pair in one.pairs
                if file_of(one.kind, pair.source) == name
            ),
        )


def table(found: list[Collected]) -> str:
    """Returns the sources as a table of Markdown: licence, pairs, and how many of them are sentences."""
    lines = ["| source | licence | pairs | sentences |", "|---|---|---|---|"]
    for one in found:
        sentences = sum(file_of("pages", pair.source) == "sentences" for pair in one.pairs)
        lines.append(f"| {one.name} | {one.licence} | {len(one.pairs):,} | {sentences:,} |")
    return "\n".join(lines)
