"""Terms put into a translation by its alignment."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cpunmt.translation.glossary.matching import Match
from cpunmt.translation.glossary.target import Target
from cpunmt.translation.glossary.words import capitalised
from cpunmt.translation.texts.aligned import Aligned, Span

Terms = tuple[tuple[str, str], ...]  # (term, translation), as the glossary has them, in the sentence's order


@dataclass(frozen=True, slots=True)
class GlossaryUse:
    """What became of a glossary's terms in a sentence: (term, translation) for each time that it stands there.

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


class Edit(NamedTuple):
    """A part of the target, [begin, end), and the text that is to replace it."""

    begin: int
    end: int
    text: str
    sources: Sequence[int]  # source pieces that it comes from


class Plan(NamedTuple):
    """What is to be done: of each match "applied", "already", ..., and the edits, ascending, of those applied."""

    fates: list[str]
    edits: list[Edit]


def planned(aligned: Aligned, matches: Sequence[Match]) -> Plan:
    """Which of the terms the target has, and where the others are to be put."""
    target = Target(aligned)
    places = target.places(match.target for match in matches)
    ranges = [target.of_source(match.begin, match.end) for match in matches]
    taken = bytearray(len(aligned.target))
    fates = [""] * len(matches)
    # first those that stand where they belong, then others wherever they stand
    for number, (match, span) in enumerate(zip(matches, ranges, strict=True)):
        place = span and _overlapping(places[match.target], span, taken)
        if place:
            fates[number] = "already"
            _take(taken, place)
    left = {term: iter(found) for term, found in places.items()}
    for number, match in enumerate(matches):
        if not fates[number]:
            place = next((place for place in left[match.target] if not any(taken[slice(*place)])), None)
            if place:
                fates[number] = "already"
                _take(taken, place)
    edits = []
    for number, (match, span) in enumerate(zip(matches, ranges, strict=True)):
        if fates[number]:
            continue
        if span is None:
            fates[number] = "not_found"
        elif any(taken[slice(*span)]):
            fates[number] = "conflict"
        else:
            fates[number] = "applied"
            _take(taken, span)
            initial = span[0] == target.first and aligned.target[span[0]].isupper()
            text = capitalised(match.target) if initial else match.target
            edits.append(Edit(*span, text, target.source_pieces(match.begin, match.end)))
    return Plan(fates, sorted(edits, key=lambda edit: edit.begin))


def use_of(matches: Sequence[Match], fates: Sequence[str]) -> GlossaryUse:
    """What became of them."""
    found: dict[str, list[tuple[str, str]]] = {}
    for match, fate in zip(matches, fates, strict=True):
        found.setdefault(fate, []).append(match.term)
    return GlossaryUse(**{fate: tuple(terms) for fate, terms in found.items()})


def _overlapping(places: Sequence[Span], span: Span, taken: bytearray) -> Span | None:
    """The first of places that overlaps `span` and is nobody's."""
    for place in places[bisect_left(places, span[0] + 1, key=lambda place: place[1]) :]:
        if place[0] >= span[1]:
            break
        if not any(taken[slice(*place)]):
            return place
    return None


def _take(taken: bytearray, span: Span) -> None:
    taken[slice(*span)] = b"\1" * (span[1] - span[0])


def edited(aligned: Aligned, edits: Sequence[Edit]) -> Aligned:
    """`aligned` with its edits made, which ascend: each word of them is a piece, linked to one of their source pieces.

    Old pieces lose what is replaced, and are gone if no more than white space is left.
    """
    if not edits:
        return aligned
    target, target_spans, links = aligned.target, aligned.target_spans, aligned.links
    texts: list[str] = []
    news: list[int] = []  # where each edit's text begins in the new target
    pieces: list[tuple[int, int, list[int]]] = []  # begin, end, source pieces
    length = end = 0
    for edit in edits:
        texts += target[end : edit.begin], edit.text
        length += edit.begin - end
        news.append(length)
        pieces += _pieces_of(edit, length)
        length, end = length + len(edit.text), edit.end
    texts.append(target[end:])
    sources: list[list[int]] = [[] for _ in target_spans]
    for source, piece in links:
        sources[piece].append(source)
    begins = [edit.begin for edit in edits]
    for (first, last), linked in zip(target_spans, sources, strict=True):
        kept = _kept(first, last, edits, begins, target)
        if kept is not None:
            number = bisect_left(begins, kept[0] + 1) - 1  # the last edit that begins there or before
            shift = news[number] + len(edits[number].text) - edits[number].end if number >= 0 else 0
            pieces.append((kept[0] + shift, kept[1] + shift, linked))
    pieces.sort(key=lambda piece: piece[0])
    made = [(source, number) for number, (_, _, linked) in enumerate(pieces) for source in linked]
    return aligned._replace(target="".join(texts), target_spans=[piece[:2] for piece in pieces], links=made)


def _kept(first: int, last: int, edits: Sequence[Edit], begins: Sequence[int], target: str) -> Span | None:
    """What is left of a piece; of one around an edit the beginning is."""
    whole = first, last
    number = bisect_left(begins, first + 1) - 1
    if number >= 0 and edits[number].end > first:
        first = edits[number].end
    if number + 1 < len(edits) and begins[number + 1] < last:
        last = begins[number + 1]
    if (first, last) == whole:
        return whole
    return (first, last) if first < last and not target[first:last].isspace() else None


def _pieces_of(edit: Edit, place: int) -> list[tuple[int, int, list[int]]]:
    """The words of an edit's text, which stands at `place` in the new target, as pieces."""
    found, words, begin = [], edit.text.split(" "), place
    for number, word in enumerate(words):
        chosen = edit.sources[number * len(edit.sources) // len(words)]
        found.append((begin, begin + len(word), [chosen]))
        begin += len(word) + 1
    return found
