"""Translates a sentence again if its translation is doubtful, and keeps the less doubtful one: the option `retry`.

A second try depends on the sentence and its own translation, never on other sentences of the call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

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
        first = {key: settings_of(settings.options, retry=None) for key, settings in every.items()}
        found = below(texts, forced, [first[id(settings)] for settings in each])
        for key, settings in every.items():
            languages = languages_of(settings)
            judge = Judge(languages.target, False)

            def count(text: str, one: Aligned, judge: Judge = judge) -> int:
                own = text[vocabulary.language_end(text) :]
                return len(doubts_of(own, found_of(one).hypotheses[0], judge))

            counts = {n: count(texts[n], found[n]) for n, one in enumerate(each) if id(one) == key}
            numbers = [number for number, doubts in counts.items() if doubts]
            doubtful = [texts[number] for number in numbers], [forced[number] for number in numbers]
            cutter = Cutter("sentence", languages, vocabulary)
            for number, second in zip(numbers, _again(*doubtful, first[key], settings, below, cutter), strict=True):
                if second is not None and count(texts[number], second) < counts[number]:
                    found[number] = _marked(second)
        return found

    return translate


def _again(
    texts: Sequence[str],
    forced: Sequence[list[int]],
    first: Settings,
    settings: Settings,
    below: OfDirections,
    cutter: Cutter,
) -> Sequence[Aligned | None]:
    """Returns second translations; None where there is none.

    `first`: the settings of the first ones.
    """
    found: list[Aligned | None] = [None] * len(texts)
    if settings.options.retry == "beam":
        if texts and (beam := _wider(first.options)):
            return below(texts, forced, [settings_of(first.options, beam_size=beam)] * len(texts))
        return found
    several = [number for number, text in enumerate(texts) if len(cutter.cut(text).spans) > 1]
    if several:
        chosen = [texts[number] for number in several], [forced[number] for number in several]
        steps = cut_steps(*chosen, cutter, first.options.return_alignments)
        sentences, prefixes = next(steps)
        made = after(steps, below(sentences, prefixes, [first] * len(sentences)))
        for number, one in zip(several, made, strict=True):
            found[number] = one
    return found


def _wider(options: Options) -> int | None:
    """Returns the size of a second try's beam, a multiple of its groups; None if no wider one is allowed."""
    beam = 2 * options.beam_size
    if options.num_beam_groups == 1:
        beam = max(_BEAM, beam)
    return beam if beam <= MOST_BEAM else None


def _marked(second: Aligned) -> Aligned:
    found = found_of(second)
    hypotheses = tuple(replace(hypothesis, retried=True) for hypothesis in found.hypotheses)
    return second._replace(found=replace(found, hypotheses=hypotheses))
