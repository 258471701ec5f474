"""Held-out texts for development and test, sources and references, which must not be in the training data."""

import functools
import re
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

from models.train.text.corpora import Corpus, Example

_NEITHER_LETTER_NOR_DIGIT = re.compile(r"[\W_]+")


class HeldOut(NamedTuple):
    """Normalized held-out texts."""

    sources: frozenset[str]
    targets: frozenset[str]


class Leaks(NamedTuple):
    """Overlaps among the examples of one corpus."""

    examples: int  # lines with held-out texts
    dropped: int  # lines without any text left


@functools.lru_cache(1 << 20)
def normalized(text: str) -> str:
    """Normalizes a text for comparison: letters and digits in lower case, without accents, single spaces."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    letters = "".join(character for character in decomposed if not unicodedata.combining(character))
    return _NEITHER_LETTER_NOR_DIGIT.sub(" ", letters).strip()


def held_out(corpora: Iterable[Corpus]) -> HeldOut:
    """Returns all texts of the corpora."""
    return HeldOut(*(frozenset(map(normalized, texts)) for texts in _texts(corpora)))


def without_held_out(corpus: Corpus, held: HeldOut) -> tuple[Corpus, Leaks]:
    """Returns the corpus without held-out texts, and their counts.

    A line with a held-out source is removed: its translations are translations of that source, too. A held-out
    reference is removed alone if its line has others.
    """
    kept, leaks = [], 0
    for example in corpus.examples:
        known = any(normalized(text) in held.sources for text in example.sources)
        targets = () if known else tuple(text for text in example.targets if normalized(text) not in held.targets)
        leaks += targets != example.targets
        if targets:
            kept.append(Example(example.sources, targets))
    return corpus._replace(examples=kept), Leaks(leaks, len(corpus.examples) - len(kept))


class Matches(NamedTuple):
    """Counts of a held-out corpus's texts found elsewhere."""

    exact: int
    normalized: int


def matches(corpora: Iterable[Corpus], held: Corpus) -> Matches:
    """Counts the texts of `held` (sources and references) that occur in `corpora` on the same side."""
    sides, known = _texts([held]), _texts(corpora)
    exact = sum(len(mine & theirs) for mine, theirs in zip(sides, known, strict=True))
    alike = sum(
        len({normalized(text) for text in mine} & {normalized(text) for text in theirs})
        for mine, theirs in zip(sides, known, strict=True)
    )
    return Matches(exact, alike)


def _texts(corpora) -> tuple[set[str], set[str]]:
    """Returns all sources, and all targets."""
    examples = [example for corpus in corpora for example in corpus.examples]
    return {t for example in examples for t in example.sources}, {t for example in examples for t in example.targets}
