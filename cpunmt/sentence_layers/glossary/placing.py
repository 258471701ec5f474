"""Terms put into a translation by its alignment."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from cpunmt.alignment.aligned import Aligned, Span
from cpunmt.alignment.edits import Edit
from cpunmt.alignment.target_words import Target
from cpunmt.options.glossary.matching import Match
from cpunmt.options.glossary.words import capitalised, is_word, token_texts, tokens


class Plan(NamedTuple):
    """What is to be done: of each match "applied", "already", ..., and the edits, ascending, of those applied."""

    fates: list[str]
    edits: list[Edit]


def planned(aligned: Aligned, matches: Sequence[Match]) -> Plan:
    """Which of the terms the target has, and where the others are to be put."""
    target = Target(aligned)
    places = target.places(match.target for match in matches)
    if is_all(aligned.source, matches):
        ranges = [_all_words(aligned.target)]
    else:
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
            edits.append(Edit(*span, text, target.projection.source_pieces(match.begin, match.end)))
    return Plan(fates, sorted(edits, key=lambda edit: edit.begin))


def is_all(source: str, matches: Sequence[Match]) -> bool:
    """Whether a term is all that a sentence says: then its translation is that of the term, whatever the model made."""
    if len(matches) != 1:
        return False
    ((begin, end, *_),) = matches
    return not any(is_word(token) for token in [*token_texts(source[:begin]), *token_texts(source[end:])])


def _all_words(text: str) -> Span | None:
    """From the first word to the end of the last; None if there is none."""
    words = [(begin, end) for token, begin, end in tokens(text) if is_word(token)]
    return (words[0][0], words[-1][1]) if words else None


def _overlapping(places: Sequence[Span], span: Span, taken: bytearray) -> Span | None:
    """The first of places that overlaps `span` and is nobody's."""
    number = bisect_left(places, span[0] + 1, key=lambda place: place[1])
    while number < len(places) and places[number][0] < span[1]:
        if not any(taken[slice(*places[number])]):
            return places[number]
        number += 1
    return None


def _take(taken: bytearray, span: Span) -> None:
    taken[slice(*span)] = b"\1" * (span[1] - span[0])
