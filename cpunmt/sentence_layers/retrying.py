"""Translates a sentence again if its translation is doubtful, and keeps the less doubtful one: the option `retry`.

A second try depends on the sentence and its own translation, never on other sentences of the call.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial

from cpunmt.alignment.aligned import Aligned
from cpunmt.decoding.call_settings import Settings, settings_of
from cpunmt.model.config import MOST_BEAM
from cpunmt.options.options import Options
from cpunmt.registry.store import Languages
from cpunmt.results.results import doubts_of
from cpunmt.sentence_layers.judge import Judge
from cpunmt.sentences.language_layer import OfDirections
from cpunmt.sentences.sentence_layer import Cutter, after, cut_steps, found_of
from cpunmt.text.vocabularies.piece_vocabulary import AnyVocabulary

_BEAM = 4  # of a second try, at least
_GROUP = 4  # pieces that a second try of a loop does not repeat: fewer are often right


def retrying(
    below: OfDirections, vocabulary: AnyVocabulary, languages_of: Callable[[Settings], Languages]
) -> OfDirections:
    """Returns a layer that translates sentences, doubtful ones a second time.

    Parameters
    ----------
    below : translates sentences; gets settings without `retry`
    vocabulary : of the source
    languages_of : returns the languages of settings
    """

    def translate(texts: Sequence[str], forced: Sequence[list[int]], each: Sequence[Settings]) -> list[Aligned]:
        every = {id(settings): settings for settings in each}
        first = {key: settings.first or settings for key, settings in every.items()}
        found = below(texts, forced, [first[id(settings)] for settings in each])
        for key, settings in every.items():
            languages = languages_of(settings)
            judge, only_loops = Judge(languages.target, False), settings.options.retry == "loops"

            def doubts(text: str, one: Aligned, judge: Judge = judge, only_loops: bool = only_loops) -> tuple[str, ...]:
                best = found_of(one).hypotheses[0]
                if only_loops and not best.repeats:
                    return ()
                found = doubts_of(text[vocabulary.language_end(text) :], best, judge)
                return tuple(doubt for doubt in found if doubt == "loop") if only_loops else found

            first_doubts = {n: doubts(texts[n], found[n]) for n, one in enumerate(each) if id(one) == key}
            numbers = [number for number, doubted in first_doubts.items() if doubted]
            doubtful = [(texts[number], forced[number], "loop" in first_doubts[number]) for number in numbers]
            cut = partial(Cutter, "sentence", languages, vocabulary)
            for number, second in zip(numbers, _again(doubtful, first[key], settings, below, cut), strict=True):
                if second is not None and _is_better(doubts(texts[number], second), first_doubts[number]):
                    found[number] = _marked(second)
        return found

    return translate


def _is_better(second: Collection[str], first: Collection[str]) -> bool:
    """Returns whether a translation has fewer doubts; it must not loop where the first one does not."""
    return len(second) < len(first) and not ("loop" in second and "loop" not in first)


def _again(
    doubtful: Sequence[tuple[str, list[int], bool]],
    first: Settings,
    settings: Settings,
    below: OfDirections,
    cut: Callable[[], Cutter],
) -> Sequence[Aligned | None]:
    """Returns second translations; None where there is none.

    `doubtful`: texts, target ids that each translation begins with, whether the first is a loop; `first`: its settings.
    """
    made: list[Aligned | None] = [None] * len(doubtful)

    def chosen(numbers: Sequence[int]) -> tuple[list[str], list[list[int]]]:
        return [doubtful[number][0] for number in numbers], [doubtful[number][1] for number in numbers]

    if doubtful and settings.options.retry == "sentences":
        cutter = cut()
        several = [number for number, (text, *_) in enumerate(doubtful) if len(cutter.cut(text).spans) > 1]
        if several:
            steps = cut_steps(*chosen(several), cutter, first.options.return_alignments)
            sentences, prefixes = next(steps)
            found = after(steps, below(sentences, prefixes, [first] * len(sentences)))
            for number, one in zip(several, found, strict=True):
                made[number] = one
        return made
    for loops in (False, True):
        numbers = [number for number, (*_, is_loop) in enumerate(doubtful) if is_loop == loops]
        changes = _wider(first.options) | (_without_repeats(first.options) if loops else {})
        if numbers and changes:
            second = settings_of(first.options, **changes)
            for number, one in zip(numbers, below(*chosen(numbers), [second] * len(numbers)), strict=True):
                made[number] = one
    return made


def _wider(options: Options) -> dict[str, int]:
    """Returns the size of a second try's beam, a multiple of its groups; nothing if no wider one is allowed."""
    beam = 2 * options.beam_size
    if options.num_beam_groups == 1:
        beam = max(_BEAM, beam)
    return {"beam_size": beam} if beam <= MOST_BEAM and not options.apart else {}


def _without_repeats(options: Options) -> dict[str, int]:
    """Returns the size of the groups of pieces that a second try does not repeat."""
    size = options.no_repeat_ngram_size
    return {"no_repeat_ngram_size": min(size or _GROUP, _GROUP)}


def _marked(second: Aligned) -> Aligned:
    found = found_of(second)
    hypotheses = tuple(replace(hypothesis, retried=True) for hypothesis in found.hypotheses)
    return second._replace(found=replace(found, hypotheses=hypotheses))
