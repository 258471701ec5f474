"""What became of the terms of a glossary: `GlossaryUse`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from cpunmt.options.glossary.matching import Match

Terms = tuple[tuple[str, str], ...]  # (term, translation), as the glossary has them, in the text's order


@dataclass(frozen=True, slots=True)
class GlossaryUse:
    """What became of a glossary's terms in a text: (term, translation) for each time that it stands there.

    applied    put into the translation
    already    the model had used it
    not_found  nothing in the translation comes from it: nothing was done
    conflict   what comes from it is another term's: nothing was done
    """

    applied: Terms = ()
    already: Terms = ()
    not_found: Terms = ()
    conflict: Terms = ()

    def __bool__(self) -> bool:
        """Whether there were any."""
        return bool(self.applied or self.already or self.not_found or self.conflict)

    def __add__(self, after: GlossaryUse) -> GlossaryUse:
        """Of two texts, one after the other."""
        return GlossaryUse(*(getattr(self, one.name) + getattr(after, one.name) for one in fields(self)))

    def to_dict(self) -> dict[str, list[list[str]]]:
        """What JSON can hold of it: its fields as lists of [term, translation]."""
        return {one.name: [list(term) for term in getattr(self, one.name)] for one in fields(self)}


def use_of(matches: Sequence[Match], fates: Sequence[str]) -> GlossaryUse:
    """What became of terms: of each "applied", "already", "not_found" or "conflict"."""
    found: dict[str, list[tuple[str, str]]] = {}
    for match, fate in zip(matches, fates, strict=True):
        found.setdefault(fate, []).append(match.term)
    return GlossaryUse(**{fate: tuple(terms) for fate, terms in found.items()})
