"""Translation through an intermediate language: `Pivot`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, overload

from cpunmt.alignment.aligned import Aligned, Layer
from cpunmt.alignment.composing import composed, pivot_layer
from cpunmt.decoding.call_settings import CHARS_PER_PIECE, Settings, aligning, settings_of, watch_of
from cpunmt.files.windows import windows
from cpunmt.options.arguments import Prefixes, in_order, plain_text, text_ids, text_list
from cpunmt.options.option_sets import SetName, option_set
from cpunmt.options.options import SPOKEN, TEXT_ONLY, Options
from cpunmt.process.first_use import LOCK
from cpunmt.process.stopping import under
from cpunmt.process.workers import Workers
from cpunmt.registry.store import Languages
from cpunmt.results.results import Result
from cpunmt.sentence_layers.all_layers import SentenceLayers
from cpunmt.sentences.engine_layer import Forced, forced_layer
from cpunmt.sentences.language_layer import without_name
from cpunmt.sentences.sentence_layer import Cutter
from cpunmt.text.languages.codes import base_of
from cpunmt.text.vocabularies.piece_vocabulary import AnyVocabulary
from cpunmt.translator.document_method import DocumentMethod
from cpunmt.translator.text_pipeline import TextCall, translate_texts
from cpunmt.translator.translator import WINDOW, Translator
from cpunmt.values.checks import shown, switch

Leg = Options | SetName | Mapping[str, Any] | None  # for one model
# Options for the text as a whole, not for each model's sentences
_AS_GIVEN: dict[str, Any] = {
    "html": False,
    "xml": False,
    "tags": None,
    "protect": "none",
    "copy_numbers": False,
    "lower_capitals": False,
    "glossary": None,
    "retry": None,
}
_OF_THE_FIRST = (SPOKEN[0],)
# The pieces of another language may be unable to express the first two
_OF_THE_LAST = ("suppress_sequences", "end_token", SPOKEN[1])
_HANDED_ON = {**_AS_GIVEN, "num_hypotheses": 1, "return_scores": False, "return_token_log_probs": False}


class Pivot(DocumentMethod):
    """A chain of models: each translates the output of the one before.

    pivot = Pivot(["firefox:deen", "firefox:enfr"])
    pivot.translate("Ein Mann fährt Fahrrad.").text

    Attributes
    ----------
    translators : tuple of Translator
        In order.
    source_vocabulary, target_vocabulary
        The first one's pieces, and the last one's.
    """

    translators: tuple[Translator, ...]

    def __init__(self, models: Iterable[str | os.PathLike[str] | Translator], **arguments: Any) -> None:
        """Takes two or more models: Translators, or first arguments of a `Translator`, which also gets `arguments`.

        Raises ValueError for fewer than two, and if a model is known to read another language than the one before it
        writes; else as `Translator`.
        """
        given = list(in_order(models, "Pivot", "a list of models"))
        if len(given) < 2:
            raise ValueError(f"Pivot is given {len(given)} models, expected two or more; of one make a Translator")
        made = [model if isinstance(model, Translator) else Translator(model, **arguments) for model in given]  # type: ignore[arg-type]  # it checks
        self.translators = tuple(made)
        self._layers = self._new_layers()
        for before, after in pairwise(made):
            written, read = before.spoken().target, after.spoken().source
            if written and read and _languages(written).isdisjoint(_languages(read)):
                raise ValueError(
                    f"{shown(str(before.path))} translates into {written!r}, but {shown(str(after.path))} from "
                    f"{read!r}; expected models in the order in which they are used"
                )

    @property
    def target_language(self) -> str | None:
        """The target language of the last model; None if unknown, or if each call names it."""
        return self.translators[-1].target_language

    @property
    def languages(self) -> Languages:
        """The first model's source and the last model's target: their defaults, or what their directories name."""
        return Languages(self.translators[0].spoken().source, self.translators[-1].spoken().target)

    @property
    def source_vocabulary(self) -> AnyVocabulary:
        """The first model's source pieces."""
        return self.translators[0].source_vocabulary

    @property
    def target_vocabulary(self) -> AnyVocabulary:
        """The last model's target pieces."""
        return self.translators[-1].target_vocabulary

    @overload
    def translate(  # pyright: ignore[reportOverlappingOverload]
        self,
        text: str,
        *,
        target_prefix: str | None = None,
        options: Leg | Sequence[Leg] = None,
        **given: Any,
    ) -> Result: ...

    @overload
    def translate(
        self,
        text: Iterable[str],
        *,
        target_prefix: str | Iterable[str | None] | None = None,
        options: Leg | Sequence[Leg] = None,
        **given: Any,
    ) -> list[Result]: ...

    def translate(
        self,
        text: str | Iterable[str],
        *,
        target_prefix: str | Iterable[str | None] | None = None,
        options: Leg | Sequence[Leg] = None,
        **given: Any,
    ) -> Result | list[Result]:
        """Translates a text or a list of texts, as `Translator.translate` does.

        A Result has the last model's score, log-probability and pieces. It is `truncated` if any model's output was.
        Its alignments link the pieces of the text to those of the last translation; attention is multiplied through the
        intermediate texts.

        Parameters
        ----------
        target_prefix : of the last translation
        options : Options, "argos", or keywords as a dict, for all models; or a list of these or None, one per model
        given : options for all models; they take precedence

        Options of texts (split, html, xml, tags, protect, copy_numbers, lower_capitals, glossary, retry) are taken from
        the first model's and apply to the whole chain: texts are cut into sentences once, terms are those of the last
        translation, and a second try has another search in the last model. `retry="loops"` applies to each model that
        recommends it. num_hypotheses, return_scores and return_token_log_probs are taken from the last model's: the
        others pass on their best translation. So are suppress_sequences, end_token and target_lang, unless `options` is
        a list; source_lang is the first model's.
        """
        if given and (watch := watch_of(given)):
            with under(watch):
                return self.translate(text, target_prefix=target_prefix, options=options, **given)
        if isinstance(text, str):
            if target_prefix is not None and not isinstance(target_prefix, str):
                raise TypeError(f"target_prefix is {shown(target_prefix)}, expected text, as `text` is")
            return self._texts([text], target_prefix, options, given)[0]
        return self._texts(text_list(text, "translate"), target_prefix, options, given)

    @overload
    def translate_iterable(
        self,
        source: Iterable[str],
        target_prefix: str | None = None,
        *,
        ordered: Literal[True] = True,
        options: Leg | Sequence[Leg] = None,
        **given: Any,
    ) -> Iterator[Result]: ...

    @overload
    def translate_iterable(
        self,
        source: Iterable[str],
        target_prefix: str | None = None,
        *,
        ordered: Literal[False],
        options: Leg | Sequence[Leg] = None,
        **given: Any,
    ) -> Iterator[tuple[int, Result]]: ...

    def translate_iterable(
        self,
        source: Iterable[str],
        target_prefix: str | None = None,
        *,
        ordered: bool = True,
        options: Leg | Sequence[Leg] = None,
        **given: Any,
    ) -> Iterator[Any]:
        """Translates a stream of texts in constant memory, with one result per text, in order.

        Windows, errors of the stream and `ordered=False` work as in `Translator.translate_iterable`. `target_prefix`
        applies to all texts.
        """
        if isinstance(source, str):
            raise TypeError("translate_iterable takes texts, not one text; use translate")
        watch = watch_of(given)
        self._settings(options, given)  # raises for wrong options before reading anything
        items = enumerate(in_order(source, "translate_iterable", "texts"))
        read = windows((plain_text(text, number, "text") for number, text in items), 1, WINDOW)

        def make(texts: Sequence[str]) -> list[Result]:
            with under(watch):
                return self._texts(list(texts), target_prefix, options, given)

        if switch("ordered", ordered):
            return (result for window in read for result in make(window))
        with LOCK:
            from cpunmt.translator.streams.unordered import unordered
        return unordered(read, lambda text: len(text) // CHARS_PER_PIECE + 1, make, Workers(1))

    def _texts(
        self,
        texts: list[str],
        prefixes: str | Iterable[str | None] | None,
        options: Leg | Sequence[Leg],
        given: Mapping[str, Any],
    ) -> list[Result]:
        last, settings = self.translators[-1], self._settings(options, given)
        forced = Prefixes(text_ids, last.target_vocabulary, last.config).of_all(prefixes, len(texts))
        return translate_texts(texts, forced, self._text_call(settings))

    def text_call(self, given: Mapping[str, Any]) -> TextCall:
        """Returns the call that translates texts with options: see `Translator.text_call`."""
        return self._text_call(self._settings(None, given))

    def _text_call(self, settings: Sequence[Settings]) -> TextCall:
        of_texts = {name: getattr(settings[0].options, name) for name in TEXT_ONLY}
        split, ends = of_texts["split"], (self.translators[0], self.translators[-1])
        languages = Languages(ends[0].spoken(settings[0]).source, ends[1].spoken(settings[-1]).target)
        cutter = None if split == "none" else Cutter(split, languages, self.source_vocabulary)
        if of_texts["retry"] in (None, "loops"):
            of_texts["retry"] = settings[-1].options.retry
        before = [settings_of(leg.options, **{**_HANDED_ON, "retry": _loops(leg.options)}) for leg in settings[:-1]]

        def once(parts: Sequence[str], begun: Sequence[list[int]], each: Sequence[Settings]) -> list[Aligned]:
            chosen = each[0]  # all are alike
            legs = [*before, settings_of(chosen.options, **_AS_GIVEN)]
            return self._layers.translate(
                parts, begun, chosen.options, lambda prefixes: self._layer(legs, prefixes), lambda: self._forced(legs)
            )

        def sentences(parts: Sequence[str], begun: Sequence[list[int]], chosen: Settings) -> list[Aligned]:
            each = [chosen] * len(parts)
            if chosen.options.retry is None or not parts:
                return once(parts, begun, each) if parts else []
            with LOCK:
                from cpunmt.sentence_layers.retrying import retrying
            return retrying(once, self.source_vocabulary, lambda settings: languages)(parts, begun, each)

        return TextCall(settings_of(settings[-1].options, **of_texts), languages, cutter, sentences)

    def _layer(self, settings: Sequence[Settings], forced: Sequence[list[int]] | None) -> Layer:
        """Returns the layer that translates single sentences; `forced`: ids that each last translation begins with."""
        prefixes = [None] * (len(settings) - 1) + [forced]
        return pivot_layer([_leg(*leg) for leg in zip(self.translators, settings, prefixes, strict=True)])

    def _forced(self, settings: Sequence[Settings]) -> Forced | None:
        """Returns a callable that forces beginnings upon the last translations; None if the last model cannot."""
        (*before, last), model = settings, self.translators[-1]
        forced = forced_layer(model.loaded, last)
        if forced is None:
            return None
        layer = pivot_layer([_leg(*leg, None) for leg in zip(self.translators, before, strict=False)])

        def translate(texts: Sequence[str], beginnings: Sequence[str]) -> list[Aligned | None]:
            middle = layer(texts, True)
            found = forced(model.named([aligned.target for aligned in middle], last), beginnings)
            pairs = zip(middle, found, strict=True)
            return [made and composed(first, without_name(made, first.target)) for first, made in pairs]

        return translate

    def _settings(self, options: Leg | Sequence[Leg], given: Mapping[str, Any]) -> list[Settings]:
        """Returns the validated options of each model's call."""
        count = len(self.translators)
        if isinstance(options, str):
            options = option_set(options)
        if options is None or isinstance(options, Options | Mapping):
            options = [_own(options, number, count) for number in range(count)]
        chosen = list(in_order(options, "options", "Options, a dict, or a list with one for each model"))
        if len(chosen) != count:
            raise ValueError(f"options has {len(chosen)} items, expected one for each of the {count} models")
        found = []
        for number, (translator, leg) in enumerate(zip(self.translators, chosen, strict=True)):
            own = _own(given, number, count)
            if isinstance(leg, Mapping):
                settings = translator.call_settings({**leg, **own}, None)
            elif leg is None or isinstance(leg, Options | str):
                settings = translator.call_settings(own, leg if leg is None else option_set(leg))
            else:
                raise TypeError(f"options: item {number} is {shown(leg)}, expected cpunmt.Options, a dict or None")
            translator.refuse_unnamed(settings)
            found.append(settings)
        return found

    def __getstate__(self) -> dict[str, Any]:
        """Drops the layers, which may hold unpicklable functions; they are made anew."""
        return {name: value for name, value in self.__dict__.items() if name != "_layers"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._layers = self._new_layers()

    def _new_layers(self) -> SentenceLayers:
        models = self.translators
        return SentenceLayers([model.source_vocabulary for model in models], [model.config for model in models])

    def __repr__(self) -> str:
        return f"Pivot([{', '.join(map(repr, self.translators))}])"


def _languages(codes: str) -> set[str]:
    """Returns the languages of a side of a model, which may have several."""
    return set(map(base_of, codes.split("+")))


def _own(options: Any, number: int, count: int) -> Any:
    """Returns options, or keywords, for one of `count` models: without those of only the first or the last one."""
    foreign = (_OF_THE_FIRST if number else ()) + (_OF_THE_LAST if number < count - 1 else ())
    if isinstance(options, Options):
        return options.changed(**dict.fromkeys(foreign))
    return options and {name: value for name, value in options.items() if name not in foreign}


def _loops(options: Options) -> str | None:
    """Returns the `retry` of a model before the last: of its own loops. Other doubts are about the whole chain."""
    return options.retry if options.retry == "loops" else None


def _leg(translator: Translator, settings: Settings, forced: Sequence[list[int]] | None) -> Layer:
    """Returns the lowest layer of a Translator, whose workers do the work."""

    def layer(texts: Sequence[str], align: bool) -> list[Aligned]:
        return translator.translate_sentences(texts, forced or [[]] * len(texts), aligning(settings, align))

    return layer
