"""Text in, text out: `Translator`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from cpunmt.process.first_use import LOCK
from cpunmt.translation.arguments import text_ids, text_list
from cpunmt.translation.batching import target_limit
from cpunmt.translation.calls import Call, Settings
from cpunmt.translation.interface.piece_translator import PieceTranslator
from cpunmt.translation.interface.scorer import WINDOW as WINDOW
from cpunmt.translation.interface.scorer import batch_sizes
from cpunmt.translation.joining import make_result, translate_sentences
from cpunmt.translation.options import Options
from cpunmt.translation.results import Result, TranslationResult

if TYPE_CHECKING:
    from typing_extensions import Unpack  # of typing since Python 3.11

    from cpunmt.translation.interface.option_types import StreamOptions, TranslationOptions
    from cpunmt.translation.streams.item_stream import Item

LETTERS = 4  # of a piece, about


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
        """Translate one sentence, or a list of sentences: text gives a Result, a list gives a list of equal length.

        Blank text gives empty text. A sentence longer than the model takes is split at the best place, and the
        translations are joined. A Result does not depend on what is translated beside it.

        A list may be any iterable that has an order: a tuple, a generator, a pandas or polars Series, an array.

        `target_prefix` is how the translation must begin: one text for all sentences, or a list with a text or None
        for each. Of a sentence that is split it is the first part's.

        Options: see `cpunmt.Options`. Raises TypeError for an unknown option or another type than text,
        ValueError for a wrong value.
        """
        settings = self._settings(given, options) if given or options is not None else self._default
        if isinstance(text, str):
            if target_prefix is None and (alone := self._alone(text, settings)):
                return alone
            return self._texts([text], [self._prefixes(text_ids).ids(target_prefix)], settings).results()[0]
        texts = text_list(text, "translate")
        forced = self._prefixes(text_ids).of_all(target_prefix, len(texts))
        return self._texts(texts, forced, settings).results()

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
        `max_batch_size`, if given, counts what `batch_type` says.
        """
        with LOCK:  # a process that translates one text starts without it
            from cpunmt.translation.streams.item_stream import checked_items
        settings = self._settings({**given, **batch_sizes(max_batch_size, batch_type)}, options)
        vocabularies = self.source_vocabulary, self.target_vocabulary
        return self._stream(checked_items(source, target_prefix, vocabularies, self.config), settings)

    def _alone(self, text: str, settings: Settings) -> Result | None:
        """One text in one part: 4 us less than a `Call`, which is made for many. None if it is not that simple."""
        options, search = settings
        model = self._model
        ids = self.source_vocabulary.encode(text)
        config = model.config
        simple = not (search.attention or options.max_input_length or config.right_to_left)
        if not simple or not 1 < len(ids) <= config.max_source_length:
            return None
        limit = target_limit(len(ids), 0, options, config)
        found = model.engine.translate([ids], [limit], search)
        return make_result(found, [len(ids) - 1], model.target_vocabulary, None, options)

    def _call(self, items: Sequence[Item], settings: Settings) -> Call[Any]:
        """A call that translates items, all of which are texts, or all pieces."""
        if items[0].ids is not None:
            return super()._call(items, settings)
        return self._texts([str(item.source) for item in items], [item.prefix for item in items], settings)

    def _texts(self, texts: Sequence[str], forced: Sequence[list[int]], settings: Settings) -> Call[Result]:
        """A call that translates texts, each of which begins with the ids forced upon it, to Results."""
        model = self._model

        def translate(numbers: Sequence[int]) -> list[Result]:
            chosen = [texts[number] for number in numbers]
            ids = model.source_vocabulary.encode_batch(chosen)
            pieces = [model.source_vocabulary.surfaces(text) for text in chosen] if settings.search.attention else None
            return translate_sentences(model, settings, ids, [forced[number] for number in numbers], pieces)

        return Call(self._workers, [len(text) // LETTERS + 1 for text in texts], translate)
