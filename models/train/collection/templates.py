"""Sentences of our own, written with alternatives, as pairs of texts.

A line is English, a tab, and German. `{1:train|ferry}` in the English and `{1:Der Zug|Die Fähre}` in the German are
slot 1: the first alternative of the one belongs to the first of the other. A slot may occur several times, anywhere:

    The {1:train|ferry} is late.        {1:Der Zug|Die Fähre} hat Verspätung.
"""

import itertools
import random
import re
from collections.abc import Iterable, Iterator

from models.train.text.held_out import normalized

_SLOT = re.compile(r"\{(\d+):([^{}]*)\}")
_MOST = 14  # pairs of one line, or more if its alternatives need them
_ALIKE = 0.75  # share of common words from which two sentences are near-duplicates


def expanded(line: str) -> list[tuple[str, str]]:
    """Returns the pairs of a line: every choice of alternatives, or, of more than 14, some that have each alternative.

    Raises ValueError for slots that do not fit.
    """
    sides = line.split("\t")
    if len(sides) != 2 or not all(side.strip() for side in sides):
        raise ValueError(f"{line!r}: expected English, a tab, and German")
    if any(mark in _SLOT.sub("", line) for mark in "{}|"):
        raise ValueError(f"{line!r}: a brace or | outside of a slot such as {{1:train|ferry}}")
    slots = [{number: len(texts.split("|")) for number, texts in _SLOT.findall(side)} for side in sides]
    sizes = slots[0] | slots[1]
    if slots[0] != slots[1] or any(len(text.split("|")) != sizes[number] for number, text in _SLOT.findall(line)):
        raise ValueError(f"{line!r}: expected the same slots in both texts, each with the same number of alternatives")
    names, made = sorted(sizes), []
    for choice in _choices([sizes[name] for name in names], line):
        taken = dict(zip(names, choice, strict=True))
        made.append(tuple(_filled(side, taken) for side in sides))
    return made


def _choices(sizes: list[int], seed: str) -> list[tuple[int, ...]]:
    choices = list(itertools.product(*map(range, sizes)))
    if len(choices) <= _MOST:
        return choices
    random.Random(seed).shuffle(choices)
    seen: set[tuple[int, int]] = set()
    first, rest = [], []
    for choice in choices:
        is_new = not seen.issuperset(enumerate(choice))
        (first if is_new else rest).append(choice)
        seen.update(enumerate(choice))
    return first + rest[: max(0, _MOST - len(first))]


def _filled(side: str, taken: dict[str, int]) -> str:
    return " ".join(_SLOT.sub(lambda slot: slot[2].split("|")[taken[slot[1]]], side).split())


def pairs(lines: Iterable[str], held_out: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yields the pairs of all lines, each once, without those whose English is nearly a held-out sentence.

    Raises ValueError for a wrong line.
    """
    seen, index = set(), _Index(held_out)
    for line in lines:
        for pair in expanded(line):
            if pair not in seen and not index.is_near(pair[0]):
                seen.add(pair)
                yield pair


class _Index:
    """Finds texts of which most words are in one of some texts, and the other way round."""

    def __init__(self, texts: Iterable[str]):
        self._texts = [frozenset(normalized(text).split()) for text in texts]

    def is_near(self, text: str) -> bool:
        words = frozenset(normalized(text).split())
        return any(len(words & known) >= _ALIKE * len(words | known) for known in self._texts)
