"""What is held out for development and test must not be trained on: nor its sources, nor its references."""

import functools
import re
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

from models.train.text.corpora import Corpus, Example

_NEITHER_LETTER_NOR_DIGIT = re.compile(r"[\W_]+")


class HeldOut(NamedTuple):
    """Normalized texts that are held out."""

    sources: frozenset[str]
    targets: frozenset[str]


class Leaks(NamedTuple):
    """Overlaps among the examples of one corpus."""

    examples: int  # lines that held something, of which
    dropped: int  # nothing was left


@functools.lru_cache(1 << 20)
def normalized(text: str) -> str:
    """Letters and digits in lower case, without accents, single spaces: texts that are equal so are the same text."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    letters = "".join(character for character in decomposed if not unicodedata.combining(character))
    return _NEITHER_LETTER_NOR_DIGIT.sub(" ", letters).strip()


def held_out(corpora: Iterable[Corpus]) -> HeldOut:
    """All texts of the corpora."""
    return HeldOut(*(frozenset(map(normalized, texts)) for texts in _texts(corpora)))


def without_held_out(corpus: Corpus, held: HeldOut) -> tuple[Corpus, Leaks]:
    """The corpus without texts that are held out, and what there was of them.

    A line whose source is held out goes as a whole: its translations are translations of that source, too. Of a line
    with a held-out reference that text goes, and the line stays if it has others.
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
    """How many texts of a held-out corpus were found."""

    exact: int
    normalized: int


def matches(corpora: Iterable[Corpus], held: Corpus) -> Matches:
    """Texts of `held` (sources and references) that occur among those of `corpora` on the same side."""
    sides, known = _texts([held]), _texts(corpora)
    exact = sum(len(mine & theirs) for mine, theirs in zip(sides, known, strict=True))
    alike = sum(
        len({normalized(text) for text in mine} & {normalized(text) for text in theirs})
        for mine, theirs in zip(sides, known, strict=True)
    )
    return Matches(exact, alike)


def _texts(corpora) -> tuple[set[str], set[str]]:
    """All sources, and all targets."""
    examples = [example for corpus in corpora for example in corpus.examples]
    return {t for example in examples for t in example.sources}, {t for example in examples for t in example.targets}
