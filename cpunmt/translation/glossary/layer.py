"""The layer of a glossary: what it does to single sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from cpunmt.translation.glossary.glossary import Glossary
from cpunmt.translation.glossary.matching import Match
from cpunmt.translation.glossary.placing import GlossaryUse, Plan, edited, planned, use_of
from cpunmt.translation.texts.aligned import Aligned, Layer

Method = Literal["replace", "constrain"]
METHODS: tuple[Method, ...] = ("replace", "constrain")
MOST_ROUNDS = 4  # sentences are translated again at most so often
_LONGER = 1.5  # times as long as before, and the model is lost

# (texts, how their translations are to begin) -> aligned translations, in order; None where that cannot be forced
Forced = Callable[[Sequence[str], Sequence[str]], list[Aligned | None]]


def glossary_layer(
    glossary: Glossary,
    below: Layer,
    method: Method = "replace",
    forced: Forced | None = None,
    noted: Callable[[Aligned, GlossaryUse], Aligned] | None = None,
) -> Layer:
    """A layer that sees to it that translations of sentences use the terms of `glossary`.

    Parameters
    ----------
    method : what is done where the model has not used a term. "replace": what it said instead is found by alignment
        and replaced; nothing else changes. "constrain": it translates again, from there on: what it had said before,
        the term, and what it then says; where that fails, as "replace".
    forced : translates with a beginning that is given; "constrain" needs it
    noted : makes of each result, with terms, and what became of them, the result that is returned
    """
    if method == "constrain" and forced is None:
        raise ValueError("method is 'constrain', but this model cannot be told how a translation begins; use 'replace'")

    def layer(texts: Sequence[str], align: bool) -> list[Aligned]:
        matches = [glossary.matches(text) for text in texts]
        chosen = [number for number, found in enumerate(matches) if found]
        results = _translated(texts, chosen, below, align)
        plans = {number: planned(results[number], matches[number]) for number in chosen}
        fates = {number: plan.fates for number, plan in plans.items()}
        if method == "constrain" and forced is not None:
            _constrain(texts, matches, results, plans, forced)
        for number in chosen:
            results[number] = edited(results[number], plans[number].edits)
            if not align:
                results[number] = results[number]._replace(source_spans=(), target_spans=(), links=())
            if noted is not None:
                use = use_of(matches[number], _together(fates[number], plans[number].fates))
                results[number] = noted(results[number], use)
        return results

    return layer


def _translated(texts: Sequence[str], chosen: Sequence[int], below: Layer, align: bool) -> list[Aligned]:
    """All texts by the layer below: one call, or two if only those that are chosen need their alignment."""
    if align or len(chosen) in (0, len(texts)):
        return below(texts, align or bool(chosen))
    wanted = set(chosen)
    others = [number for number in range(len(texts)) if number not in wanted]
    found: dict[int, Aligned] = {}
    for numbers, aligned in ((others, False), (chosen, True)):
        found.update(zip(numbers, below([texts[number] for number in numbers], aligned), strict=True))
    return [found[number] for number in range(len(texts))]


def _together(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """What became of terms that were placed in several steps."""
    return ["applied" if b != "already" and a == "already" else a for b, a in zip(before, after, strict=True)]


def _constrain(
    texts: Sequence[str],
    matches: Sequence[Sequence[Match]],
    results: list[Aligned],
    plans: dict[int, Plan],
    forced: Forced,
) -> None:
    """Translate again, term by term from the left, what has terms to be put in; change results and plans where it helps.

    A round is one call for all sentences.
    """
    active = [number for number, plan in plans.items() if plan.edits]
    done = dict.fromkeys(active, 0)  # how much of the target is settled
    for _ in range(MOST_ROUNDS):
        prefixes = {}
        for number in active:
            edit = next((edit for edit in plans[number].edits if edit.begin >= done[number]), None)
            if edit is not None:
                prefixes[number] = results[number].target[: edit.begin] + edit.text
        active = list(prefixes)
        if not active:
            return
        made = forced([texts[number] for number in active], list(prefixes.values()))
        for number, aligned in zip(active, made, strict=True):
            done[number] = len(prefixes[number])
            if aligned is None or not aligned.target.startswith(prefixes[number]):
                continue
            plan = planned(aligned, matches[number])
            better = _missing(plan) < _missing(plans[number])
            if better and len(aligned.target) <= _LONGER * len(results[number].target) + 20:
                results[number], plans[number] = aligned, plan


def _missing(plan: Plan) -> int:
    return sum(fate != "already" for fate in plan.fates)
