"""Terms for sentences, from their references: pairs of words that are translations of each other in a corpus."""

import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from bench.harness.texts import tsv_rows

_WORD = re.compile(r"[^\W\d_]+")
SHORTEST = 4  # letters
MOST_FREQUENT = 0.004  # of sentences with the word;
FEW = 10  # a word in fewer sentences is always rare
LEAST = 0.05  # Dice coefficient, and
TOGETHER = 2  # sentence pairs with both words


class Example(NamedTuple):
    """A sentence, its references, and a term of the first reference."""

    source: str
    references: list[str]
    term: tuple[str, str]


def examples(corpus: Path, test: Path, count: int) -> list[Example]:
    """Returns `count` sentences of `test`, evenly from all with a term: the pair of words with the highest Dice."""
    sources, targets, pairs, size = Counter(), Counter(), Counter(), 0
    for source, *references in tsv_rows(corpus):
        words, others = {word.lower() for word in _WORD.findall(source)}, set(_WORD.findall(references[0]))
        sources.update(words)
        targets.update(others)
        pairs.update((word, other) for word in words for other in others)
        size += 1
    found = []
    for source, *references in tsv_rows(test):
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
            if source.startswith(word) and not word.isupper():  # not capital for the sentence's beginning
                word = word[0].lower() + word[1:]
            found.append(Example(source, references, (word, best[2])))
    return [found[number * len(found) // count] for number in range(min(count, len(found)))]


def _rare(words: list[str], counts: Counter, size: int) -> list[str]:
    return [
        word
        for word in words
        if len(word) >= SHORTEST and max(counts[word], counts[word.lower()]) < max(FEW, MOST_FREQUENT * size)
    ]
