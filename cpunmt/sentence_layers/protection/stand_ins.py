"""Which stand-ins are tried for what must not be translated.

Of fifty candidates these are what models/ende-tiny and models/ende-student translate best around, put in the place of a
name or of a number (bench/protection), and copy as often as any.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations

from cpunmt.sentence_layers.protection.finding import Unit

NAMES = ("Tom", "Peter", "Boston", "Paris", "X1")
NUMBERS = ("50", "27", "738", "1984")
_NUMBER = re.compile(r"%(?:\d+\$|\(\w+\))?[-+0-9.]*[hlqjzt]*[dioufFgGeE]|\W?\d[\d.,]*\W?")  # %d, an amount
MOST_MIXED = 3  # units of which each, and each but one, are tried apart from the others

StandIns = tuple["str | None", ...]  # for each unit; None: it is cut out


def variants(sentence: str, units: Sequence[Unit]) -> Iterator[StandIns]:
    """What is tried for the units of a sentence: first all stand-ins that there are, last none."""
    every = _stand_ins(sentence, units)
    firm = [number for number, stand_in in enumerate(every) if stand_in is not None]
    yield every
    if 1 < len(firm) <= MOST_MIXED:
        for kept in (kept for size in range(len(firm) - 1, 0, -1) for kept in combinations(firm, size)):
            yield tuple(stand_in if number in kept else None for number, stand_in in enumerate(every))
    if firm:
        yield (None,) * len(units)


def _parts_between(sentence: str, units: Sequence[Unit]) -> Iterator[str]:
    begin = 0
    for unit in units:
        yield sentence[begin : unit.begin]
        begin = unit.end
    yield sentence[begin:]


def _stand_ins(sentence: str, units: Sequence[Unit]) -> StandIns:
    """One for each unit that is a part of the sentence, all different, none of which is in the sentence."""
    capitals = "".join(_parts_between(sentence, units)).isupper()  # a name would not be copied as it is
    names = [name for name in NAMES if name not in sentence and not capitals]
    numbers = [number for number in NUMBERS if number not in sentence]
    found: list[str | None] = []
    for unit in units:
        pool = names if names and not _NUMBER.fullmatch(sentence, unit.begin, unit.end) else numbers
        glued = unit.begin > 0 and sentence[unit.begin - 1].isalnum()
        found.append(pool.pop(0) if pool and not unit.loose and not glued else None)
    return tuple(found)
