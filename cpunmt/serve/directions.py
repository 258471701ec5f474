"""From which language into which the models that are there translate, one or several in a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

MOST_MODELS = 3  # in a row


class Direction(NamedTuple):
    """A language and another one that a model translates it into, codes as its metadata has them."""

    source: str
    target: str


def chain(directions: Sequence[tuple[Direction, int]], source: str, target: str) -> tuple[int, ...] | None:
    """The fewest models that lead from one language to the other, in the order in which they are used.

    Of several ways the one whose models were named first. None: there is none of three models or less.

    Parameters
    ----------
    directions : what each model translates, and its number
    """
    ways: list[tuple[str, tuple[int, ...]]] = [(source, ())]
    seen = {source}
    for _ in range(MOST_MODELS):
        further = []
        for language, models in ways:
            for (read, written), number in directions:
                if read != language:
                    continue
                if written == target:
                    return (*models, number)
                if written not in seen:
                    seen.add(written)
                    further.append((written, (*models, number)))
        ways = further
    return None


def sources(directions: Sequence[tuple[Direction, int]]) -> list[str]:
    """Returns the languages that are translated from, each once."""
    return list(dict.fromkeys(direction.source for direction, _ in directions))


def targets(directions: Sequence[tuple[Direction, int]]) -> list[str]:
    """Returns the languages that are translated into, each once."""
    return list(dict.fromkeys(direction.target for direction, _ in directions))
