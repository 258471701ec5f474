"""Terms for sentences, out of their references: pairs of words that a corpus says are each other's translations."""

import gzip
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_WORD = re.compile(r"[^\W\d_]+")
SHORTEST = 4  # letters
MOST_FREQUENT = 0.004  # of sentences with the word;
FEW = 10  # it may always be in fewer than so many
LEAST = 0.05  # Dice coefficient, and
TOGETHER = 2  # sentence pairs with both words


class Example(NamedTuple):
    """A sentence, its references, and a term that the first of them uses."""

    source: str
    references: list[str]
    term: tuple[str, str]


def rows(path: Path) -> Iterator[tuple[str, list[str]]]:
    """(source, references) of each line of a TSV, packed by gzip or not."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf8", newline="\n") as lines:
        for line in lines:
            source, *references = line.rstrip("\n").split("\t")
            yield source, references


def examples(corpus: Path, test: Path, count: int) -> list[Example]:
    """`count` sentences of `test`, evenly out of all that have a term: the pair of words with the highest Dice."""
    sources, targets, pairs, size = Counter(), Counter(), Counter(), 0
    for source, references in rows(corpus):
        words, others = {word.lower() for word in _WORD.findall(source)}, set(_WORD.findall(references[0]))
        sources.update(words)
        targets.update(others)
        pairs.update((word, other) for word in words for other in others)
        size += 1
    found = []
    for source, references in rows(test):
        best = max(
            (
                (2 * pairs[word.lower(), other] / (sources[word.lower()] + targets[other]), word, other)
                for word in _rare(_WORD.findall(source), sources, size)
                for other in _rare(_WORD.findall(references[0]), targets, size)
                if pairs[word.lower(), other] >= TOGETHER
            ),
            default=(0.0, "", ""),
        )
        if best[0] > LEAST:
            word = best[1]
            if source.startswith(word) and not word.isupper():  # its capital is the sentence's
                word = word[0].lower() + word[1:]
            found.append(Example(source, references, (word, best[2])))
    return [found[number * len(found) // count] for number in range(min(count, len(found)))]


def _rare(words: list[str], counts: Counter, size: int) -> list[str]:
    return [
        word
        for word in words
        if len(word) >= SHORTEST and max(counts[word], counts[word.lower()]) < max(FEW, MOST_FREQUENT * size)
    ]
