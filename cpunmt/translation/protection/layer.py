"""Keeps what must not be translated: a stand-in that the model copies, or out of the sentence and back by alignment."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from cpunmt.translation.protection.cutting import Cut, Places, cut, put_back
from cpunmt.translation.protection.edits import Edit, edited, rebuilt
from cpunmt.translation.protection.finding import KINDS, Finder, Unit
from cpunmt.translation.texts.aligned import Aligned, Layer, Span

STAND_INS = ("X1", "X2", "X3", "X4")


def protection_layer(
    below: Layer,
    kinds: Collection[str] = KINDS,
    patterns: Iterable[str | re.Pattern[str]] = (),
    knows: Callable[[str], bool] | None = None,
) -> Layer:
    """A layer that keeps what must not be translated: see `Finder` for arguments and errors."""
    finder = Finder(kinds, patterns, knows)

    def translate(texts: Sequence[str], align: bool) -> list[Aligned]:
        if all(map(finder.is_clean, texts)):
            return below(texts, align)
        units = [[] if finder.is_clean(text) else finder.units(text) for text in texts]
        return _translated(below, texts, units, align)

    return translate


class _Plan:
    """A sentence with stand-ins for some of its units, and without the others."""

    def __init__(self, sentence: str, units: Sequence[Unit], stand_ins: Sequence[str | None]) -> None:
        self.sentence, self.units, self.stand_ins = sentence, units, stand_ins
        self.cuts: dict[int, Cut] = {}  # number of a unit -> how it is cut out
        edits: list[Edit] = []
        for number, (unit, stand_in) in enumerate(zip(units, stand_ins, strict=True)):
            if stand_in is None:
                self.cuts[number] = cut(sentence, unit)
                edits.append(self.cuts[number].edit)
            else:
                edits.append(Edit(unit.begin, unit.end, stand_in))
        self.given: list[Span] = [(edit.begin, edit.end) for edit in edits]
        self.text, self.spans = edited(sentence, edits)

    def restored(self, below: Aligned, align: bool) -> Aligned | None:
        """The translation of the sentence, out of that of `text`; None if a stand-in was not copied."""
        target = below.target
        edits: list[tuple[Edit, int]] = []
        cuts: list[tuple[int, Cut]] = []
        places = Places(below) if self.cuts else None
        for number, stand_in in enumerate(self.stand_ins):
            if stand_in is not None:
                if (span := _copied(target, stand_in, self._is_glued(number))) is None:
                    return None
                edits.append((Edit(*span, self._text(number)), number))
            elif places:
                cuts.append((places.of(self.spans[number][0], self.cuts[number]), self.cuts[number]))
        numbers = list(self.cuts)
        edits += [(edit, numbers[number]) for edit, number in put_back(target, cuts)]
        edits.sort(key=lambda item: item[0][:2])
        final, spans = edited(target, [edit for edit, _ in edits])
        if not align:
            return Aligned(self.sentence, final)
        old = [(edit.begin, edit.end) for edit, _ in edits]
        pairs = [(number, position) for position, (_, number) in enumerate(edits)]
        return rebuilt(below, self.sentence, (self.spans, self.given), final, (old, spans), pairs)

    def _text(self, number: int) -> str:
        return self.sentence[self.units[number].begin : self.units[number].end]

    def _is_glued(self, number: int) -> bool:
        end = self.units[number].end
        return end < len(self.sentence) and not self.sentence[end].isspace()


def _copied(target: str, stand_in: str, glued: bool) -> Span | None:
    """Where in `target` the stand-in is: once, and as a word of its own; None if it is not."""
    if target.count(stand_in) != 1:
        return None
    begin = target.index(stand_in)
    end = begin + len(stand_in)
    if target[begin - 1 : begin].isalnum() or (target[end : end + 1].isalnum() and not glued):
        return None
    return begin, end


def _translated(below: Layer, texts: Sequence[str], units: Sequence[list[Unit]], align: bool) -> list[Aligned]:
    found: dict[int, Aligned] = {}
    plans = {i: _Plan(text, u, _stand_ins(text, u)) for i, (text, u) in enumerate(zip(texts, units, strict=True))}
    while plans:
        for wanted in (False, True):  # whether something was cut out, so that the alignment is needed
            group = {i: plan for i, plan in plans.items() if (align or bool(plan.cuts)) == wanted}
            if not group:
                continue
            results = below([plan.text for plan in group.values()], wanted)
            for (i, plan), result in zip(group.items(), results, strict=True):
                restored = plan.restored(result, align) if plan.units else result
                if restored is not None:
                    found[i] = restored
        plans = {
            i: _Plan(plan.sentence, plan.units, [None] * len(plan.units))
            for i, plan in plans.items()
            if i not in found
        }
    return [found[i] for i in range(len(texts))]


def _stand_ins(sentence: str, units: Sequence[Unit]) -> list[str | None]:
    free = (stand_in for stand_in in STAND_INS if stand_in not in sentence)
    return [None if unit.loose else next(free, None) for unit in units]
