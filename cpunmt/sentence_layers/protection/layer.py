"""Keeps parts that must not be translated: by a stand-in that the model copies, or by cutting them out.

For a part of the sentence's syntax ("Ask {name} about it."), a name as stand-in gives the best translation. A part
beside the syntax ("Ask me 😀 about it.") is better cut out, and put back by alignment. The layer tries both, and takes
the translation with the higher probability.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from cpunmt.alignment.aligned import Aligned, Layer, Span, aligned_hypotheses, changed_result, mean_log_prob
from cpunmt.alignment.edits import Edit, Edits, edited, moved_each, rebuilt
from cpunmt.sentence_layers.protection.cutting import CutOut, Places, cut, put_back
from cpunmt.sentence_layers.protection.finding import Finder, KeptPart, text_left

# Required gain in mean log-probability per piece, for each stand-in. With many combinations of several units one may
# win by chance.
MARGIN, MARGIN_OF_SEVERAL = 0.1, 0.15


def protection_layer(
    below: Layer,
    finder: Finder,
    language_end: Callable[[str], int] | None = None,
) -> Layer:
    """Returns a layer that keeps protected parts byte for byte, with their number of occurrences.

    Parameters
    ----------
    below : translates sentences
    finder : finds the parts to keep
    language_end : finds the end of the target language's name at the beginning of a text
    """

    def translate(texts: Sequence[str], align: bool) -> list[Aligned]:
        if all(map(finder.is_clean, texts)):
            return below(texts, align)
        firsts = [language_end(text) if language_end else 0 for text in texts]
        units = [finder.units(*arguments) for arguments in zip(texts, firsts, strict=True)]
        return _translated(below, texts, firsts, units, align)

    return translate


def _translated(
    below: Layer, texts: Sequence[str], firsts: Sequence[int], units: Sequence[list[KeptPart]], align: bool
) -> list[Aligned]:
    plain = [number for number, some in enumerate(units) if not some]
    plans = [
        (number, StoodIn(texts[number], some, stand_ins, firsts[number]))
        for number, some in enumerate(units)
        if some
        for stand_ins in variants(texts[number], some)
    ]
    kept = [plan.text for _, plan in plans]
    unchanged = [texts[number] for number in plain]
    if align or not plain:
        translated = below([*unchanged, *kept], True)
    else:
        translated = [*below(unchanged, False), *below(kept, True)]
    results = dict(zip(plain, translated, strict=False))
    tries: dict[int, list[tuple[StoodIn, Aligned]]] = {}
    for (number, plan), aligned in zip(plans, translated[len(plain) :], strict=True):
        tries.setdefault(number, []).append((plan, aligned))
    for number, some in tries.items():
        results[number] = _best(some, align)
    return [results[number] for number in range(len(texts))]


def _best(tries: Sequence[tuple[StoodIn, Aligned]], align: bool) -> Aligned:
    """Returns the most probable translation that copied its stand-ins.

    Without probabilities, returns the one with most stand-ins. The last try does not use stand-ins.
    """
    margin = MARGIN if tries[0][0].units == 1 else MARGIN_OF_SEVERAL

    def preference(item: tuple[StoodIn, Aligned]) -> float:
        plan, aligned = item
        mean = mean_log_prob(aligned)
        return plan.stand_ins if mean is None else mean - margin * plan.stand_ins

    for plan, aligned in sorted(tries, key=preference, reverse=True):
        if (restored := plan.restored(aligned, align)) is not None:
            return restored
    raise AssertionError("what is cut out can always be put back")


class StoodIn:
    """A sentence with stand-ins: `text` is translated, `restored` converts its translation back."""

    def __init__(self, sentence: str, units: Sequence[KeptPart], stand_ins: StandIns, first: int = 0) -> None:
        """Takes one of `stand_ins` for each of `units`; None cuts the unit out. The sentence begins at `first`."""
        self._sentence, self._units, self._stand_ins, self._first = sentence, units, stand_ins, first
        self._cuts: dict[int, CutOut] = {}  # number of a unit -> its cut
        edits: list[Edit] = []
        for number, (unit, stand_in) in enumerate(zip(units, stand_ins, strict=True)):
            if stand_in is None:
                self._cuts[number] = cut(sentence, unit, first)
                edits.append(self._cuts[number].edit)
            else:
                edits.append(Edit(unit.begin, unit.end, stand_in))
        self.text, old, self._spans = edited(sentence, edits)
        self._source = Edits(sentence, self._spans, old)

    @property
    def units(self) -> int:
        """The number of kept parts."""
        return len(self._units)

    @property
    def stand_ins(self) -> int:
        """The number of stand-ins."""
        return len(self._stand_ins) - len(self._cuts)

    def restored(self, below: Aligned, align: bool) -> Aligned | None:
        """Returns the sentence's translation, from that of `text`; None if the best one did not copy a stand-in.

        Drops other translations that did not copy a stand-in.
        """
        targets = [self._target(aligned) for aligned in aligned_hypotheses(below)]
        best = targets[0]
        if best is None:
            return None
        # the engine's own pieces: a layer may have joined some of them in `below`
        texts = [
            None if target is None else (target[0].text, moved_each(one.spans or (), *target[0][1:]))
            for one, target in zip(below.found.hypotheses if below.found else (), targets, strict=False)
        ]
        found = changed_result(
            below.found, self._sentence, texts, align, lambda spans: moved_each(spans, *self._source[1:])
        )
        if not align:
            return Aligned(self._sentence, best[0].text, found=found)
        return rebuilt(below, self._source, *best)._replace(found=found)

    def _target(self, below: Aligned) -> tuple[Edits, list[tuple[int, int]]] | None:
        """Returns the edits of a translation of `text`, and the unit that each edit puts back."""
        target = below.target
        edits: list[tuple[Edit, int]] = []
        cuts: list[tuple[int, CutOut]] = []
        places = Places(below, self._first) if self._cuts else None
        for number, stand_in in enumerate(self._stand_ins):
            if stand_in is not None:
                if (span := self._copied(number, stand_in, target)) is None:
                    return None
                unit = self._units[number]
                edits.append((Edit(*span, self._sentence[unit.begin : unit.end]), number))
            elif places:
                cuts.append((places.of(self._spans[number][0], self._cuts[number]), self._cuts[number]))
        taken = [(edit.begin, edit.end) for edit, _ in edits]
        numbers = list(self._cuts)
        edits += [(edit, numbers[number]) for edit, number in put_back(target, cuts, taken)]
        edits.sort(key=lambda item: item[0][:2])
        made = edited(target, [edit for edit, _ in edits])
        return made, [(number, position) for position, (_, number) in enumerate(edits)]

    def _copied(self, number: int, stand_in: str, target: str) -> Span | None:
        """Finds the stand-in in `target`; None unless it occurs once, as a word of its own."""
        if target.count(stand_in) != 1:
            return None
        begin = target.index(stand_in)
        end = begin + len(stand_in)
        behind = self._units[number].end
        glued = behind < len(self._sentence) and not self._sentence[behind].isspace()  # a name's genitive
        if target[max(begin - 1, 0) : begin].isalnum() or (target[end : end + 1].isalnum() and not glued):
            return None
        return begin, end


NAMES = ("Tom", "Peter", "Boston", "Paris", "X1")
NUMBERS = ("50", "27", "738", "1984")
_NUMBER = re.compile(r"%(?:\d+\$|\(\w+\))?[-+0-9.]*[hlqjzt]*[dioufFgGeE]|\W?\d[\d.,]*\W?")  # %d, an amount
MOST_MIXED = 3  # up to this number of units, each is tried alone and left out alone

StandIns = tuple["str | None", ...]  # for each unit; None: it is cut out


def variants(sentence: str, units: Sequence[KeptPart]) -> Iterator[StandIns]:
    """Yields combinations of stand-ins to try: first all of them, last none."""
    every = _stand_ins(sentence, units)
    firm = [number for number, stand_in in enumerate(every) if stand_in is not None]
    yield every
    if 1 < len(firm) <= MOST_MIXED:
        for kept in (kept for size in range(len(firm) - 1, 0, -1) for kept in combinations(firm, size)):
            yield tuple(stand_in if number in kept else None for number, stand_in in enumerate(every))
    if firm:
        yield (None,) * len(units)


def _stand_ins(sentence: str, units: Sequence[KeptPart]) -> StandIns:
    """Returns a stand-in for each unit within the syntax: all different, and not in the sentence."""
    capitals = text_left(sentence, units).isupper()  # the model would not copy a name in small letters
    names = [name for name in NAMES if name not in sentence and not capitals]
    numbers = [number for number in NUMBERS if number not in sentence]
    found: list[str | None] = []
    for unit in units:
        pool = names if names and not _NUMBER.fullmatch(sentence, unit.begin, unit.end) else numbers
        glued = unit.begin > 0 and sentence[unit.begin - 1].isalnum()
        found.append(pool.pop(0) if pool and not unit.loose and not glued else None)
    return tuple(found)
