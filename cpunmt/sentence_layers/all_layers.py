"""Puts the layers of a call around the engine: protection, numbers, capitals, terms."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from cpunmt.alignment.aligned import Aligned, Layer
from cpunmt.model.config import ModelConfig
from cpunmt.options.options import Options
from cpunmt.process.first_use import LOCK
from cpunmt.sentences.sentence_layer import found_of
from cpunmt.text.signs import has_digits, has_no_codes
from cpunmt.text.vocabularies.piece_vocabulary import AnyVocabulary

if TYPE_CHECKING:
    from cpunmt.results.results import Result
    from cpunmt.sentence_layers.protection.finding import Finder
    from cpunmt.sentences.engine_layer import Forced

MOST_FINDERS = 20


class SentenceLayers:
    """The layers that options select, wrapped around one that translates sentences; made once per translator.

    It learns which characters the vocabularies know. Threads may share it.
    """

    def __init__(self, vocabularies: Sequence[AnyVocabulary], configs: Sequence[ModelConfig]) -> None:
        """Takes the models' source `vocabularies`, in order, and their `configs`.

        Unknown words go to a model that copies them itself.
        """
        self._vocabularies = vocabularies
        pairs = zip(vocabularies, configs, strict=True)
        self._keeping = [vocabulary for vocabulary, config in pairs if not config.replace_unknowns]
        self._finders: dict[Any, Finder] = {}

    def translate(
        self,
        texts: Sequence[str],
        begun: Sequence[list[int]],
        options: Options,
        engine: Callable[[Sequence[list[int]] | None], Layer],
        forced: Callable[[], Forced | None],
    ) -> list[Aligned]:
        """Translates sentences with a call's final options.

        Parameters
        ----------
        begun : target ids that each translation begins with. Such a sentence goes to the engine alone: the layers would
            request other translations
        engine : takes beginnings, returns the layer that translates sentences
        forced : returns the callable that forces beginnings, if the model can
        """
        align = options.return_alignments
        layer = engine(None)
        if self._finders or _asks_for_more(options) or not all(map(self._is_untouched, texts)):
            layer = self._around(layer, options, forced)
        theirs = [number for number, ids in enumerate(begun) if ids]
        if not theirs:
            return layer(texts, align)
        free = [number for number, ids in enumerate(begun) if not ids]
        found: dict[int, Aligned] = {}
        for numbers, below in ((free, layer), (theirs, engine([begun[number] for number in theirs]))):
            made = below([texts[number] for number in numbers], align) if numbers else []
            found |= zip(numbers, made, strict=True)
        return [found[number] for number in range(len(texts))]

    def _around(self, layer: Layer, options: Options, forced: Callable[[], Forced | None]) -> Layer:
        language_end = self._vocabularies[0].language_end
        if options.glossary is not None:
            with LOCK:  # most processes need none of these modules
                from cpunmt.options.glossary.glossary import glossary_of
                from cpunmt.sentence_layers.terms import glossary_layer
            glossary = glossary_of(options.glossary)
            assert glossary is not None
            layer = glossary_layer(glossary, layer, forced=forced())
        if options.lower_capitals:
            with LOCK:
                from cpunmt.sentence_layers.capitals import capitals_layer
            layer = capitals_layer(layer, language_end)
        if options.copy_numbers:
            layer = _numbers().number_layer(layer)
        if options.protect != "none":
            with LOCK:
                from cpunmt.sentence_layers.protection.layer import protection_layer
            layer = protection_layer(layer, self._finder(options.protect), language_end)
        if _keeps_tags(options):
            with LOCK:
                from cpunmt.sentence_layers.tags import tag_layer
            layer = tag_layer(layer, language_end)
        return layer

    def _is_untouched(self, text: str) -> bool:
        """Returns whether no default layer would change a sentence; imports no layer."""
        return has_no_codes(text) and not has_digits(text) and not text.isupper() and self._knows(text)

    def leave(self, text: str, options: Options) -> bool:
        """Returns whether no layer has to act before a sentence is translated."""
        first = self._vocabularies[0].language_end(text)
        if options.glossary is not None or (options.lower_capitals and text[first:].isupper()):
            return False
        if options.protect == "none":
            return True
        if "<" in text[first:] and _keeps_tags(options):
            return False
        finder = self._finder(options.protect)
        return finder.is_clean(text) or not finder.units(text, first)

    def mended(self, text: str, result: Result, options: Options, engine: Callable[[], Layer]) -> Result:
        """Applies the layers to the translation of a sentence that they did not change.

        `engine` returns the layer below, for layers that need the alignment.
        """
        if not options.copy_numbers:
            return result
        if not _numbers().is_doubtful(text, result.text):
            return result

        def below(texts: Sequence[str], align: bool) -> list[Aligned]:
            return engine()(texts, True) if align else [Aligned(text, result.text, found=result)]

        return found_of(_numbers().number_layer(below)([text], False)[0])

    def _finder(self, protect: Any) -> Finder:
        found = self._finders.get(protect)
        if found is None:
            with LOCK:
                from cpunmt.options.protect_option import KINDS
                from cpunmt.sentence_layers.protection.finding import Finder
            chosen = KINDS if protect == "all" else protect
            kinds = [item for item in chosen if isinstance(item, str)]
            patterns = [item for item in chosen if isinstance(item, re.Pattern)]
            functions = [item for item in chosen if not isinstance(item, str | re.Pattern)]
            if len(self._finders) >= MOST_FINDERS:
                self._finders.clear()
            found = self._finders[protect] = Finder(kinds, patterns, functions, self._knows)
        return found

    def _knows(self, text: str) -> bool:
        return all(vocabulary.unk_id not in vocabulary.encode(text) for vocabulary in self._keeping)


@functools.cache
def _numbers() -> ModuleType:
    """Imports the module once: an import statement takes as long as finding the numbers of a sentence."""
    with LOCK:
        from cpunmt.sentence_layers import numbers
    return numbers


def _keeps_tags(options: Options) -> bool:
    settled: Any = options.protect or ()  # text, or a tuple
    return settled == "all" or "tag" in settled


def _asks_for_more(options: Options) -> bool:
    """Returns whether a call has its own terms, patterns or functions, which may match in any sentence."""
    settled: Any = options.protect or ()  # text, or a tuple
    return options.glossary is not None or not all(isinstance(item, str) for item in settled)
