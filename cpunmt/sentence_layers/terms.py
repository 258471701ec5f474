"""Applies a glossary to single sentences."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from cpunmt.alignment.aligned import Aligned, Layer, Span, aligned_hypotheses, changed_result
from cpunmt.alignment.edits import Edit, shared_out
from cpunmt.alignment.target_words import Target
from cpunmt.options.glossary.glossary import Glossary
from cpunmt.options.glossary.matching import Match
from cpunmt.options.glossary.words import capitalised, is_word, token_texts, tokens
from cpunmt.results.glossary_use import GlossaryUse, use_of
from cpunmt.sentences.engine_layer import Forced

Method = Literal["replace", "constrain"]
METHODS: tuple[Method, ...] = ("replace", "constrain")
MOST_ROUNDS = 4  # maximum number of further translations of a sentence
EARLIER = 2  # words before the replaced ones that a term may replace too: "hat sich" becomes "veränderte sich"
_LONGER = 1.5  # a translation that grows by this factor has gone wrong


def glossary_layer(
    glossary: Glossary,
    below: Layer,
    method: Method | None = None,
    forced: Forced | None = None,
) -> Layer:
    """Returns a layer that makes translations use the terms of `glossary`.

    `found.glossary` reports the use of each term.

    Parameters
    ----------
    method : the action for a term that the model has not used. "replace" finds its translation by alignment and
        replaces it; nothing else changes. "constrain" translates again, from there or from up to `EARLIER` words
        before, with the term forced, and takes the most probable translation; if that fails, it acts as "replace". None
        means "constrain" if `forced` is given, else "replace"
    forced : translates with a given beginning, for "constrain". See `forced_layer`

    Translations other than the best always use "replace".
    """
    method = method or ("replace" if forced is None else "constrain")
    if method == "constrain" and forced is None:
        raise ValueError("method is 'constrain', but this model cannot be told how a translation begins; use 'replace'")

    def layer(texts: Sequence[str], align: bool) -> list[Aligned]:
        matches = [glossary.matches(text) for text in texts]
        chosen = [number for number, found in enumerate(matches) if found]
        results = below(texts, align or bool(chosen))  # one call, although only some texts need their alignment
        plans = {number: planned(results[number], matches[number]) for number in chosen}
        fates = {number: plan.fates for number, plan in plans.items()}
        if method == "constrain" and forced is not None:
            _constrain(texts, matches, results, plans, forced)
        for number in chosen:
            use = use_of(matches[number], _together(fates[number], plans[number].fates))
            results[number] = _changed(results[number], plans[number], matches[number], use, align)
        return [result if number in plans else _without_terms(result, align) for number, result in enumerate(results)]

    return layer


def _together(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """Joins the fates of terms that were placed in several steps."""
    return ["applied" if b != "already" and a == "already" else a for b, a in zip(before, after, strict=True)]


def _without_terms(aligned: Aligned, align: bool) -> Aligned:
    """Drops an alignment that only this layer requested."""
    found = aligned.found
    if align:
        return aligned
    if found is not None and found.source_spans is not None:
        targets = [(hypothesis.text, ()) for hypothesis in found.hypotheses]
        found = changed_result(found, aligned.source, targets, False)
    return Aligned(aligned.source, aligned.target, found=found)


def _changed(aligned: Aligned, plan: Placement, matches: Sequence[Match], use: GlossaryUse, align: bool) -> Aligned:
    """Applies the edits of all translations: the best one's from `plan`, the others' from their own."""
    made = shared_out(aligned, plan.edits)
    others = [shared_out(other, planned(other, matches).edits) for other in aligned_hypotheses(aligned)[1:]]
    texts = [(one.target, one.target_spans) for one in (made, *others)]
    found = changed_result(aligned.found, aligned.source, texts, align)
    if found is not None:
        found = replace(found, glossary=use)
    if not align:
        return Aligned(made.source, made.target, found=found)
    return made._replace(found=found)


def _constrain(
    texts: Sequence[str],
    matches: Sequence[Sequence[Match]],
    results: list[Aligned],
    plans: dict[int, Placement],
    forced: Forced,
) -> None:
    """Translates sentences again, with missing terms forced from left to right, one round for all sentences.

    Updates `results` and `plans` where that helps.
    """
    # Length of the settled target. If the term is the whole output, the model would repeat its old word as well.
    done = {number: 0 for number, plan in plans.items() if plan.edits and not is_all(texts[number], matches[number])}
    for _ in range(MOST_ROUNDS):
        asked: list[tuple[int, str]] = []
        edits: dict[int, Edit] = {}
        for number in done:
            edit = next((edit for edit in plans[number].edits if edit.begin >= done[number]), None)
            if edit is not None:
                edits[number] = edit
                asked += [(number, text) for text in _beginnings(results[number].target, edit, done[number])]
        if not asked:
            return
        made = forced([texts[number] for number, _ in asked], [beginning for _, beginning in asked])
        found: dict[int, list[tuple[str, Aligned | None]]] = {}
        for (number, beginning), aligned in zip(asked, made, strict=True):
            found.setdefault(number, []).append((beginning, aligned))
        for number, tries in found.items():
            done[number] = len(tries[0][0])
            before = results[number], plans[number]
            best = _best(tries, *before, matches[number], edits[number])
            if best is not None:
                beginning, results[number], plans[number] = best
                done[number] = len(beginning)


def _beginnings(target: str, edit: Edit, done: int) -> list[str]:
    """Returns beginnings that end in the term: the translation up to the replaced words, or up to some words before."""
    begins = [begin for token, begin, _ in tokens(target) if is_word(token)]
    places = [begin for begin in begins if done <= begin < edit.begin][-EARLIER:]
    found = [target[: edit.begin] + edit.text]
    for place in places[::-1]:
        initial = place == begins[0] and target[place].isupper()
        found.append(target[:place] + (capitalised(edit.text) if initial else edit.text))
    return found


def _best(
    tries: Sequence[tuple[str, Aligned | None]],
    before: Aligned,
    plan: Placement,
    matches: Sequence[Match],
    edit: Edit,
) -> tuple[str, Aligned, Placement] | None:
    """Returns the translation with the fewest missing terms; on a tie, the most probable one.

    Returns None if no translation has more terms than before. A term of `edit` that was forced before its place must
    replace its words, not be said beside them ("Ich Köter mag Hunde").
    """
    best, most = None, (-_missing(plan), math.inf)
    replaced = _words(before.target[edit.begin : edit.end])
    left = _count(replaced, before.target) - 1
    for beginning, aligned in tries:
        if aligned is None or not aligned.target.startswith(beginning):
            continue
        if len(aligned.target) > _LONGER * len(before.target) + 20:
            continue
        is_earlier = beginning != before.target[: edit.begin] + edit.text
        if is_earlier and _count(replaced, aligned.target) > left:
            continue
        made = planned(aligned, matches)
        rank = -_missing(made), aligned.found.hypotheses[0].score if aligned.found else 0.0
        if rank > most:
            best, most = (beginning, aligned, made), rank
    return best


def _words(text: str) -> list[str]:
    return [token.lower() for token in token_texts(text) if is_word(token)]


def _count(words: Sequence[str], text: str) -> int:
    """Returns how often the words follow each other in a text, in any case."""
    found, size = _words(text), len(words)
    return sum(found[i : i + size] == words for i in range(len(found) - size + 1))


def _missing(plan: Placement) -> int:
    return sum(fate != "already" for fate in plan.fates)


class Placement(NamedTuple):
    """The fate of each match, "applied", "already", ..., and the edits of the applied ones, ascending."""

    fates: list[str]
    edits: list[Edit]


def planned(aligned: Aligned, matches: Sequence[Match]) -> Placement:
    """Finds the terms that the target contains, and the places for the others."""
    target = Target(aligned)
    places = target.places(match.target for match in matches)
    if is_all(aligned.source, matches):
        ranges = [_all_words(aligned.target)]
    else:
        ranges = [target.of_source(match.begin, match.end) for match in matches]
    taken = bytearray(len(aligned.target))
    fates = [""] * len(matches)
    # terms in their expected places first, then terms anywhere
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
    return Placement(fates, sorted(edits, key=lambda edit: edit.begin))


def is_all(source: str, matches: Sequence[Match]) -> bool:
    """Returns whether a sentence is one term; its translation then replaces all words of the model."""
    if len(matches) != 1:
        return False
    ((begin, end, *_),) = matches
    return not any(is_word(token) for token in [*token_texts(source[:begin]), *token_texts(source[end:])])


def _all_words(text: str) -> Span | None:
    """Returns the span from the first word to the last; None without words."""
    words = [(begin, end) for token, begin, end in tokens(text) if is_word(token)]
    return (words[0][0], words[-1][1]) if words else None


def _overlapping(places: Sequence[Span], span: Span, taken: bytearray) -> Span | None:
    """Returns the first of `places` that overlaps `span` and is free."""
    number = bisect_left(places, span[0] + 1, key=lambda place: place[1])
    while number < len(places) and places[number][0] < span[1]:
        if not any(taken[slice(*places[number])]):
            return places[number]
        number += 1
    return None


def _take(taken: bytearray, span: Span) -> None:
    taken[slice(*span)] = b"\1" * (span[1] - span[0])
