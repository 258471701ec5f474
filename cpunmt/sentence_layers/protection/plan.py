"""A sentence as it is translated: with stand-ins for some of what must be kept, and without the rest."""

from __future__ import annotations

from collections.abc import Sequence

from cpunmt.alignment.aligned import Aligned, Span
from cpunmt.alignment.edits import Edit, Edits, edited, moved_each, rebuilt
from cpunmt.alignment.hypotheses import aligned_hypotheses, changed_result
from cpunmt.sentence_layers.protection.cutting import Cut, Places, cut, put_back
from cpunmt.sentence_layers.protection.finding import Unit
from cpunmt.sentence_layers.protection.stand_ins import StandIns


class Plan:
    """`text` is what is translated; `restored` makes the sentence's translation of its."""

    def __init__(self, sentence: str, units: Sequence[Unit], stand_ins: StandIns, first: int = 0) -> None:
        """`stand_ins` are for each of `units`; None: it is cut out. The sentence begins at `first`."""
        self._sentence, self._units, self._stand_ins, self._first = sentence, units, stand_ins, first
        self._cuts: dict[int, Cut] = {}  # number of a unit -> how it is cut out
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
        """How many are kept."""
        return len(self._units)

    @property
    def stand_ins(self) -> int:
        """How many there are."""
        return len(self._stand_ins) - len(self._cuts)

    def restored(self, below: Aligned, align: bool) -> Aligned | None:
        """The sentence's translation, from that of `text`; None if the best one did not copy a stand-in.

        Of its other translations those that did not are left out.
        """
        targets = [self._target(aligned) for aligned in aligned_hypotheses(below)]
        best = targets[0]
        if best is None:
            return None
        # the engine's own pieces: in `below` a layer may have put some of them together
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
        """What becomes of a translation of `text`, and which unit each edit puts back."""
        target = below.target
        edits: list[tuple[Edit, int]] = []
        cuts: list[tuple[int, Cut]] = []
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
        """Where in `target` the stand-in is: once, and as a word of its own; None if it is not."""
        if target.count(stand_in) != 1:
            return None
        begin = target.index(stand_in)
        end = begin + len(stand_in)
        behind = self._units[number].end
        glued = behind < len(self._sentence) and not self._sentence[behind].isspace()  # a name's genitive
        if target[max(begin - 1, 0) : begin].isalnum() or (target[end : end + 1].isalnum() and not glued):
            return None
        return begin, end
