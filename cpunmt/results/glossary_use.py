"""The use of a glossary's terms in a translation: `GlossaryUse`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from cpunmt.options.glossary.matching import Match

Terms = tuple[tuple[str, str], ...]  # (term, translation) as in the glossary, in the order of the text


@dataclass(frozen=True, slots=True)
class GlossaryUse:
    """The use of a glossary's terms in a text: (term, translation) for each occurrence.

    applied    inserted into the translation
    already    the model had used the translation
    not_found  unchanged: nothing in the translation comes from the term
    conflict   unchanged: the words that come from the term belong to another term
    """

    applied: Terms = ()
    already: Terms = ()
    not_found: Terms = ()
    conflict: Terms = ()

    def __bool__(self) -> bool:
        """Returns whether there are any terms."""
        return bool(self.applied or self.already or self.not_found or self.conflict)

    def __add__(self, after: GlossaryUse) -> GlossaryUse:
        """Joins the use in two consecutive texts."""
        return GlossaryUse(*(getattr(self, one.name) + getattr(after, one.name) for one in fields(self)))

    def to_dict(self) -> dict[str, list[list[str]]]:
        """Returns the fields as JSON can hold them: lists of [term, translation]."""
        return {one.name: [list(term) for term in getattr(self, one.name)] for one in fields(self)}


def use_of(matches: Sequence[Match], fates: Sequence[str]) -> GlossaryUse:
    """Groups terms by their fates: "applied", "already", "not_found" or "conflict"."""
    found: dict[str, list[tuple[str, str]]] = {}
    for match, fate in zip(matches, fates, strict=True):
        found.setdefault(fate, []).append(match.term)
    return GlossaryUse(**{fate: tuple(terms) for fate, terms in found.items()})
