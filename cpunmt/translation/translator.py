"""Text in, text out: `Translator`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from cpunmt.process.first_use import LOCK
from cpunmt.translation.arguments import text_ids, text_list
from cpunmt.translation.batching import target_limit
from cpunmt.translation.calls import Call, Settings
from cpunmt.translation.interface.piece_translator import PieceTranslator
from cpunmt.translation.interface.scorer import WINDOW as WINDOW
from cpunmt.translation.interface.scorer import batch_sizes
from cpunmt.translation.interface.whole_texts import TextCall, translate_texts
from cpunmt.translation.joining import Source, make_result
from cpunmt.translation.options import TEXT_ONLY, Options
from cpunmt.translation.results import Result, TranslationResult
from cpunmt.translation.texts.aligned import Aligned, Layer
from cpunmt.translation.texts.engine_layer import engine_layer
from cpunmt.translation.texts.forcing import forced_layer
from cpunmt.translation.texts.languages import is_unspaced
from cpunmt.translation.texts.sentence_layer import Cutter
from cpunmt.translation.texts.units import PLAIN

if TYPE_CHECKING:
    from typing_extensions import Unpack  # of typing since Python 3.11

    from cpunmt.translation.interface.option_types import StreamOptions, TranslationOptions
    from cpunmt.translation.streams.item_stream import Item

LETTERS = 4  # of a piece, about
_DIGIT = re.compile("[0-9]")


class Translator(PieceTranslator):
    """Translates with one model. One Translator may be shared by many threads.

    translator = Translator("models/ende-tiny")
    translator.translate("A man is riding a bicycle.").text

    Methods and arguments have CTranslate2's names where they mean the same. Where defaults differ: `beam_size` is 1
    (there 2); `min_length` is 0 (there 1); a long source is split (there it is cut after 1,024 pieces); a target may
    have `max_length_factor` times as many pieces as its source (there 256); the shortlist is used if there is one.

    Options are keywords, see `Options`; `options=Options(...)` gives all of them at once, instead of the model's own
    defaults, and keywords beside it win.
    """

    @overload
    def translate(  # type: ignore[overload-overlap]  # pyright: ignore[reportOverlappingOverload]
        self,
        text: str,
        target_prefix: str | None = None,
        *,
        options: Options | None = None,
        **given: Unpack[TranslationOptions],
    ) -> Result: ...

    @overload
    def translate(
        self,
        text: Iterable[str],
        target_prefix: str | Iterable[str | None] | None = None,
        *,
        options: Options | None = None,
        **given: Unpack[TranslationOptions],
    ) -> list[Result]: ...

    def translate(
        self,
        text: str | Iterable[str],
        target_prefix: str | Iterable[str | None] | None = None,
        *,
        options: Options | None = None,
        **given: Any,
    ) -> Result | list[Result]:
        """Translate a text, or a list of texts: text gives a Result, a list gives a list of equal length.

        Each sentence is translated by itself; what is between sentences, and what has no letters, stays as it is. See
        the option `split`. A sentence longer than the model takes is cut between words, best where a clause ends. A
        Result does not depend on what is translated beside it.

        A list may be any iterable that has an order: a tuple, a generator, a pandas or polars Series, an array.

        `target_prefix` is how the translation must begin: one text for all, or a list with a text or None for each.
        It is that of the text's first sentence. What options say of lengths holds for each sentence.

        Options: see `cpunmt.Options`. Raises TypeError for an unknown option or another type than text,
        ValueError for a wrong value.
        """
        settings = self._settings(given, options) if given or options is not None else self._default
        if isinstance(text, str):
            text = str.__str__(text)  # the characters of a subclass, which may print as others
            if target_prefix is None and (alone := self._alone(text, settings)):
                return alone
            return self._texts([text], [self._prefixes(text_ids).ids(target_prefix)], settings)[0]
        texts = text_list(text, "translate")
        forced = self._prefixes(text_ids).of_all(target_prefix, len(texts))
        return self._texts(texts, forced, settings)

    @overload
    def translate_iterable(  # type: ignore[overload-overlap]  # pyright: ignore[reportOverlappingOverload]
        self,
        source: Iterable[str],
        target_prefix: str | Iterable[str | None] | None = None,
        max_batch_size: int | None = None,
        batch_type: Literal["examples", "tokens"] = "examples",
        *,
        options: Options | None = None,
        **given: Unpack[StreamOptions],
    ) -> Iterator[Result]: ...

    @overload
    def translate_iterable(
        self,
        source: Iterable[Iterable[str]],
        target_prefix: Iterable[Iterable[str] | None] | None = None,
        max_batch_size: int | None = None,
        batch_type: Literal["examples", "tokens"] = "examples",
        *,
        options: Options | None = None,
        **given: Unpack[StreamOptions],
    ) -> Iterator[TranslationResult]: ...

    def translate_iterable(
        self,
        source: Iterable[Any],
        target_prefix: str | Iterable[Any] | None = None,
        max_batch_size: int | None = None,
        batch_type: str = "examples",
        *,
        options: Options | None = None,
        **given: Any,
    ) -> Iterator[Any]:
        """Translate a stream in constant memory: one result for each item, in order.

        Texts give Results, as `translate` does; lists of pieces give TranslationResults, as `translate_batch` does.
        Items are read in windows, sorted by length within each; the first window is one item, so that the first
        result comes soon, and each is twice as long as the one before, up to 2,048 texts. If the source raises, or an
        item is wrong, the results of what came before are given first.

        `target_prefix` is as of `translate` or `translate_batch`, but it may be a stream too, or `itertools.repeat`.
        `max_batch_size`, if given, counts what `batch_type` says. Raises ValueError, as the first result is asked for,
        if `split` is given and the items are pieces: those are not split.
        """
        with LOCK:  # a process that translates one text starts without it
            from cpunmt.translation.streams.item_stream import checked_items, texts_only
        settings = self._settings({**given, **batch_sizes(max_batch_size, batch_type)}, options)
        vocabularies = self.source_vocabulary, self.target_vocabulary
        items = checked_items(source, target_prefix, vocabularies, self.config)
        of_texts = [name for name in TEXT_ONLY if name in given]
        return self._stream(texts_only(items, of_texts[0]) if of_texts else items, settings)

    def _alone(self, text: str, settings: Settings) -> Result | None:
        """One sentence in one part: 4 us less than a `Call`, which is made for many. None if it is not that simple."""
        options, search = settings
        model = self._model
        config, vocabulary = model.config, model.source_vocabulary
        if search.attention or options.max_input_length or config.right_to_left or self._cache is not None:
            return None
        if options.html or options.glossary is not None:
            return None
        plain = PLAIN.fullmatch(text) is not None and options.protect in ("all", "none") and not text.isupper()
        if not plain and not self._layers.leave(text, options):
            return None
        if options.split != "none" and not (plain and isinstance(options.split, str)):
            cutter = self._cutter(settings)
            if cutter and not cutter.is_one(text):
                return None
        ids = vocabulary.encode(text)
        if not 1 < len(ids) <= config.max_source_length:
            return None
        if plain and vocabulary.unk_id in ids and options.protect != "none":
            return None
        limit = target_limit(len(ids), 0, options, config)
        found = model.engine.translate([ids], [limit], search)
        result = make_result(found, [len(ids) - 1], model.target_vocabulary, Source(len(text)), options)
        if plain and not _DIGIT.search(text):
            return result
        return self._layers.mended(text, result, options, lambda: self._engine_layer(settings)(None))

    def _results(self, items: Sequence[Item], settings: Settings) -> list[Any]:
        """Results of items, all of which are texts, or all pieces."""
        if items[0].ids is not None:
            return super()._results(items, settings)
        return self._texts([str(item.source) for item in items], [item.prefix for item in items], settings)

    def _texts(self, texts: Sequence[str], forced: Sequence[list[int]], settings: Settings) -> list[Result]:
        """Results of texts, each of whose translations begins with the ids forced upon it."""
        return translate_texts(
            texts, forced, TextCall(settings, self._languages, self._cutter(settings), self._sentences)
        )

    def _sentences(self, texts: Sequence[str], forced: Sequence[list[int]], settings: Settings) -> list[Aligned]:
        """Sentences, shared among the workers."""
        if self._cache is None:
            return self._translated(texts, forced, settings)

        def make(numbers: Sequence[int]) -> list[Aligned]:
            return self._translated([texts[n] for n in numbers], [forced[n] for n in numbers], settings)

        keys = [(text, tuple(prefix), settings) for text, prefix in zip(texts, forced, strict=True)]
        return self._cache.all_of(texts, keys, make)

    def _translated(self, texts: Sequence[str], forced: Sequence[list[int]], settings: Settings) -> list[Aligned]:
        def translate(numbers: Sequence[int]) -> list[Aligned]:
            return self._layers.translate(
                [texts[number] for number in numbers],
                [forced[number] for number in numbers],
                settings.options,
                self._engine_layer(settings),
                lambda: forced_layer(self._model, settings, is_unspaced(self._languages.target)),
            )

        return Call(self._workers, [len(text) // LETTERS + 1 for text in texts], translate).results()

    def _engine_layer(self, settings: Settings) -> Callable[[Sequence[list[int]] | None], Layer]:
        """What makes the lowest layer, from the ids that each translation begins with."""
        return lambda begun: engine_layer(self._model, settings, begun, is_unspaced(self._languages.target))

    def _cutter(self, settings: Settings) -> Cutter | None:
        """What cuts texts to sentences; None: nothing does."""
        split = settings.options.split
        return None if split == "none" else Cutter(split, self._languages, self.source_vocabulary)
