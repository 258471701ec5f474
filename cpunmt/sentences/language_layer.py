"""Names the target language in each sentence for a multilingual model, and keeps the sentence's own offsets."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from cpunmt.alignment.aligned import Aligned, Span
from cpunmt.decoding.call_settings import Settings
from cpunmt.results.results import Result
from cpunmt.text.vocabularies.piece_vocabulary import AnyVocabulary

# (texts, target ids that each translation begins with, settings) -> translations
Sentences = Callable[[Sequence[str], Sequence[list[int]], Settings], list[Aligned]]
# The same with settings for each text, which differ in languages only
OfDirections = Callable[[Sequence[str], Sequence[list[int]], Sequence[Settings]], list[Aligned]]


def named(texts: Sequence[str], names: Sequence[str], vocabulary: AnyVocabulary) -> list[str]:
    """Returns texts that begin with the name of a language, unless they are blank or name one themselves."""
    return [
        name + text if name and text.strip() and not vocabulary.language_end(text) else text
        for text, name in zip(texts, names, strict=True)
    ]


def told(sentences: OfDirections, vocabulary: AnyVocabulary) -> OfDirections:
    """Returns a layer that translates `sentences` into the languages of their settings.

    If the model reads a language in the text, its name is written there, unless the text names one itself.
    """

    def translate(texts: Sequence[str], forced: Sequence[list[int]], each: Sequence[Settings]) -> list[Aligned]:
        names = [getattr(settings.options.target_lang, "name", "") for settings in each]
        made = sentences(named(texts, names, vocabulary), forced, each)
        return [without_name(one, text) for one, text in zip(made, texts, strict=True)]

    return translate


def without_name(one: Aligned, text: str) -> Aligned:
    """Returns the translation of `text` from the one of the text with a language's name before it."""
    count = len(one.source) - len(text)
    if not count:
        return one
    found = one.found
    if found is not None:
        found = _result_without(found, count)
    sources = _back([source for source, _ in one.kept], count)
    kept = list(zip(sources, [target for _, target in one.kept], strict=True))
    return one._replace(source=text, source_spans=_back(one.source_spans, count), found=found, kept=kept)


def _result_without(result: Result, count: int) -> Result:
    spans = None if result.source_spans is None else tuple(_back(result.source_spans, count))
    left = max(0, result.num_source_characters - count)
    return dataclasses.replace(result, source_spans=spans, num_source_characters=left)


def _back(spans: Sequence[Span], count: int) -> list[Span]:
    """Moves spans back by `count`; the name of the language becomes a piece without characters."""
    return [(max(0, begin - count), max(0, end - count)) for begin, end in spans]
