"""Terms put into a translation by its alignment."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from cpunmt.alignment.aligned import Aligned, Span
from cpunmt.alignment.target_words import Target
from cpunmt.options.glossary.matching import Match
from cpunmt.options.glossary.words import capitalised, is_word, token_texts, tokens


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
            edits.append(Edit(*span, text, target.source_pieces(match.begin, match.end)))
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


def edited(aligned: Aligned, edits: Sequence[Edit]) -> Aligned:
    """`aligned` with its edits made, which ascend.

    It keeps its pieces and links, and what the engine found: what changes is where the pieces stand. The words of an
    edit are shared out among the pieces it replaces that come from the term; the others stand nowhere: their spans are
    empty.
    """
    if not edits:
        return aligned
    target, linked = aligned.target, _linked_sources(aligned)
    texts: list[str] = []
    spans: list[Span] = []
    length = end = number = 0  # of the new target, the old one, and of the next piece
    old = aligned.target_spans
    for edit in edits:
        texts += target[end : edit.begin], edit.text
        shift = length - end
        while number < len(old) and old[number][1] <= edit.begin:
            spans.append((old[number][0] + shift, old[number][1] + shift))
            number += 1
        length += edit.begin - end
        first = number
        while number < len(old) and old[number][0] < edit.end:
            number += 1
        chosen = range(first, number)
        spans += _shared_out(edit, length, [old[k] for k in chosen], [linked.get(k, ()) for k in chosen])
        if spans and number > first and old[number - 1][1] > edit.end:  # it goes on after what is replaced
            after = length + len(edit.text)
            begin = spans[-1][0] if spans[-1][1] == after and spans[-1][0] < after else after
            rest = next((other.begin for other in edits if edit.end <= other.begin < old[number - 1][1]), None)
            last = min(old[number - 1][1], len(target) if rest is None else rest)
            spans[-1] = begin, after + last - edit.end
        length, end = length + len(edit.text), edit.end
    texts.append(target[end:])
    spans += [(begin + length - end, last + length - end) for begin, last in old[number:]]
    return aligned._replace(target="".join(texts), target_spans=spans)


def _linked_sources(aligned: Aligned) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for source, piece in aligned.links:
        found.setdefault(piece, []).append(source)
    return found


def _shared_out(edit: Edit, place: int, old: Sequence[Span], linked: Sequence[Sequence[int]]) -> list[Span]:
    """New spans of the pieces that an edit replaces; its text begins at `place`. Old ones may begin before it."""
    sources = set(edit.sources)
    chosen = [number for number, found in enumerate(linked) if not sources.isdisjoint(found)]
    words = _words(edit.text, place)
    groups: dict[int, Span] = {}
    for rank, number in enumerate(chosen[: len(words)]):
        count = min(len(chosen), len(words))
        first, last = rank * len(words) // count, (rank + 1) * len(words) // count - 1
        groups[number] = words[first][0], words[last][1]
    spans: list[Span] = []
    at = place
    for number, (begin, _) in enumerate(old):
        before = max(0, edit.begin - begin)
        first, at = groups.get(number, (at, at))
        spans.append((place - before if before else first, at))
    return spans


def _words(text: str, place: int) -> list[Span]:
    found = []
    for word in text.split(" "):
        found.append((place, place + len(word)))
        place += len(word) + 1
    return found
