"""Keeps what must not be translated: a stand-in that the model copies, or out of the sentence and back by alignment.

Where it is a part of what is said ("Ask {name} about it."), a name in its place makes the best translation; where it
stands beside ("Ask me 😀 about it."), it does harm, and what it stands in is best translated without it. So both are
translated, and that is taken of which the model is surer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cpunmt.alignment.aligned import Aligned, Layer
from cpunmt.alignment.hypotheses import mean_log_prob
from cpunmt.sentence_layers.protection.finding import Finder, Unit
from cpunmt.sentence_layers.protection.plan import Plan
from cpunmt.sentence_layers.protection.stand_ins import variants

# How much surer the model must be for each stand-in, in mean log-probability of a piece. Of the many combinations of
# several units one may win by chance.
MARGIN, MARGIN_OF_SEVERAL = 0.1, 0.15


def protection_layer(
    below: Layer,
    finder: Finder,
    language_end: Callable[[str], int] | None = None,
) -> Layer:
    """A layer that keeps what must not be translated, byte for byte, as often as it is there.

    Parameters
    ----------
    below : translates sentences
    finder : finds what is kept
    language_end : where the sentence begins in a text that begins with the language to translate into
    """

    def translate(texts: Sequence[str], align: bool) -> list[Aligned]:
        if all(map(finder.is_clean, texts)):
            return below(texts, align)
        firsts = [language_end(text) if language_end else 0 for text in texts]
        units = [finder.units(*arguments) for arguments in zip(texts, firsts, strict=True)]
        return _translated(below, texts, firsts, units, align)

    return translate


def _translated(
    below: Layer, texts: Sequence[str], firsts: Sequence[int], units: Sequence[list[Unit]], align: bool
) -> list[Aligned]:
    plain = [number for number, some in enumerate(units) if not some]
    plans = [
        (number, Plan(texts[number], some, stand_ins, firsts[number]))
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
    tries: dict[int, list[tuple[Plan, Aligned]]] = {}
    for (number, plan), aligned in zip(plans, translated[len(plain) :], strict=True):
        tries.setdefault(number, []).append((plan, aligned))
    for number, some in tries.items():
        results[number] = _best(some, align)
    return [results[number] for number in range(len(texts))]


def _best(tries: Sequence[tuple[Plan, Aligned]], align: bool) -> Aligned:
    """Of the translations of a sentence that of which the model is surest, if it copied the stand-ins in it.

    If nobody knows how sure it is, that with most of them. The last has none.
    """
    margin = MARGIN if tries[0][0].units == 1 else MARGIN_OF_SEVERAL

    def preference(item: tuple[Plan, Aligned]) -> float:
        plan, aligned = item
        mean = mean_log_prob(aligned)
        return plan.stand_ins if mean is None else mean - margin * plan.stand_ins

    for plan, aligned in sorted(tries, key=preference, reverse=True):
        if (restored := plan.restored(aligned, align)) is not None:
            return restored
    raise AssertionError("what is cut out can always be put back")
