"""Translates text with one model: `Translator`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Union, overload

from cpunmt.alignment.aligned import Aligned, Layer
from cpunmt.decoding.batching import target_limit
from cpunmt.decoding.call_settings import CHARS_PER_PIECE, Call, Settings, watch_of
from cpunmt.decoding.joining import Source, make_result, translate_sentences
from cpunmt.options.arguments import text_ids, text_list
from cpunmt.options.option_sets import SetName
from cpunmt.options.options import TEXT_ONLY, Options
from cpunmt.process.first_use import LOCK
from cpunmt.process.stopping import SharedWork, is_watched, under, watched
from cpunmt.results.results import Result, TranslationResult
from cpunmt.sentence_layers.judge import Judge
from cpunmt.sentences.engine_layer import engine_layer, forced_layer
from cpunmt.sentences.language_layer import told
from cpunmt.sentences.sentence_layer import Cutter, found_of
from cpunmt.text.languages.codes import is_unspaced
from cpunmt.text.signs import has_digits, has_no_codes, is_plain
from cpunmt.translator.loaded_model import languages_apart
from cpunmt.translator.piece_translator import PieceTranslator
from cpunmt.translator.scorer import WINDOW as WINDOW
from cpunmt.translator.scorer import batch_sizes
from cpunmt.translator.text_pipeline import TextCall, translate_directions, translate_texts
from cpunmt.values.checks import switch

if TYPE_CHECKING:
    from typing_extensions import Unpack  # in typing since Python 3.11

    from cpunmt.decoding.piece_stream import Callback
    from cpunmt.options.options import StreamOptions, TranslationOptions
    from cpunmt.translator.streams.item_stream import Item
else:  # for typing.get_type_hints; Python 3.10 has no Unpack, and Union[Any] is Any
    TranslationOptions = Any
    Unpack = Union


class Translator(PieceTranslator):
    """A translator with one model, which threads may share.

    translator = Translator("models/ende")
    translator.translate("A man is riding a bicycle.").text

    Methods and arguments have CTranslate2's names where they mean the same. Some defaults differ: `beam_size` is 1
    (there 2); `min_length` is 0 (there 1); a long source is split (there it is cut after 1,024 pieces); a target may
    have `max_length_factor` times as many pieces as its source (there 256); the shortlist is used if there is one.

    Options are keywords, see `Options`. `options=Options(...)` sets all of them at once instead of the model's own
    defaults; keywords given as well take precedence. `options="argos"` has the settings of argos-translate.
    """

    @overload
    def translate(  # type: ignore[overload-overlap]  # pyright: ignore[reportOverlappingOverload]
        self,
        text: str,
        *,
        target_prefix: str | None = None,
        options: Options | SetName | None = None,
        **given: Unpack[TranslationOptions],
    ) -> Result: ...

    @overload
    def translate(
        self,
        text: Iterable[str],
        *,
        target_prefix: str | Iterable[str | None] | None = None,
        options: Options | SetName | None = None,
        **given: Unpack[TranslationOptions],
    ) -> list[Result]: ...

    def translate(
        self,
        text: str | Iterable[str],
        *,
        target_prefix: str | Iterable[str | None] | None = None,
        options: Options | SetName | None = None,
        **given: Any,
    ) -> Result | list[Result]:
        """Translates a text, or a list of texts: returns a Result for a text, a list of equal length for a list.

        Each sentence is translated separately; text between sentences, and text without letters, stays. See the option
        `split`. A sentence longer than the model takes is cut between words, best where a clause ends. A Result does
        not depend on other texts in the call.

        A list may be any ordered iterable: a tuple, a generator, a pandas or polars Series, an array.

        `target_prefix` is the required beginning of the translation: one text for all, or a list with a text or None
        for each. It applies to the text's first sentence. Length limits apply to each sentence. `source_lang` and
        `target_lang` may be lists, too, with a language for each text.

        Every call also takes `time_limit` and `cancel`. They stop a call; they never change its output. `time_limit`:
        seconds after which TimeLimitError is raised, unless the call has ended. `cancel`: a `threading.Event`, or a
        function that is called several times a second; CancelledError is raised once it is set, or returns True.

        Options: see `cpunmt.Options`. Raises TypeError for an unknown option or another type than text, ValueError for
        a wrong value.
        """
        if given and (watch := watch_of(given)):
            with under(watch):
                return self.translate(text, target_prefix=target_prefix, options=options, **given)
        if isinstance(text, str):
            settings = self.call_settings(given, options) if given or options is not None else self._default
            text = str.__str__(text)  # the characters of a subclass, which may print differently
            if target_prefix is None and (alone := self._alone(text, settings)):
                return alone
            prefix = [] if target_prefix is None else self._prefixes(text_ids).ids(target_prefix)
            return self._texts([text], [prefix], settings)[0]
        given, listed = languages_apart(given)
        settings = self.call_settings(given, options)
        texts = text_list(text, "translate")
        forced = self._prefixes(text_ids).of_all(target_prefix, len(texts))
        if (each := self.settings_of_each(given, listed, options, len(texts))) is None:
            return self._texts(texts, forced, settings)
        calls = {id(one): self._text_call(one) for one in dict(zip(map(id, each), each, strict=True)).values()}
        return translate_directions(texts, forced, [calls[id(one)] for one in each], self.translate_each)

    @overload
    def translate_iterable(  # type: ignore[overload-overlap]  # pyright: ignore[reportOverlappingOverload]
        self,
        source: Iterable[str],
        target_prefix: str | Iterable[str | None] | None = None,
        max_batch_size: int | None = None,
        batch_type: Literal["examples", "tokens"] = "examples",
        *,
        ordered: Literal[True] = True,
        options: Options | SetName | None = None,
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
        ordered: Literal[True] = True,
        options: Options | SetName | None = None,
        **given: Unpack[StreamOptions],
    ) -> Iterator[TranslationResult]: ...

    @overload
    def translate_iterable(  # type: ignore[overload-overlap]  # pyright: ignore[reportOverlappingOverload]
        self,
        source: Iterable[str],
        target_prefix: str | Iterable[str | None] | None = None,
        max_batch_size: int | None = None,
        batch_type: Literal["examples", "tokens"] = "examples",
        *,
        ordered: Literal[False],
        options: Options | SetName | None = None,
        **given: Unpack[StreamOptions],
    ) -> Iterator[tuple[int, Result]]: ...

    @overload
    def translate_iterable(
        self,
        source: Iterable[Iterable[str]],
        target_prefix: Iterable[Iterable[str] | None] | None = None,
        max_batch_size: int | None = None,
        batch_type: Literal["examples", "tokens"] = "examples",
        *,
        ordered: Literal[False],
        options: Options | SetName | None = None,
        **given: Unpack[StreamOptions],
    ) -> Iterator[tuple[int, TranslationResult]]: ...

    def translate_iterable(
        self,
        source: Iterable[Any],
        target_prefix: str | Iterable[Any] | None = None,
        max_batch_size: int | None = None,
        batch_type: str = "examples",
        *,
        ordered: bool = True,
        options: Options | SetName | None = None,
        **given: Any,
    ) -> Iterator[Any]:
        """Translates a stream in constant memory, with one result per item, in order.

        Texts yield Results, as in `translate`; lists of pieces yield TranslationResults, as in `translate_batch`. Items
        are read in windows and sorted by length within each. The first window is one item, for an early first result;
        each further one is twice as long, up to 2,048 texts. If the source raises, or an item is wrong, the results of
        all items before it come first.

        `ordered=False` yields pairs (number of the item, its result) as soon as they are finished: some dozens or
        hundreds of a window, of similar length, then the next ones; one thread begins with the shortest.

        `target_prefix` is as in `translate` or `translate_batch`, or a stream, or `itertools.repeat`. `max_batch_size`,
        if given, counts the unit named by `batch_type`. `callback` is as in `translate_batch`, for ordered results; its
        `batch_id` is the number of the item. `time_limit` applies to the whole stream, from this call on; earlier
        windows keep their results. When the first result is requested, raises ValueError if `split` is given for
        pieces, which are not split, or `callback` for texts.
        """
        with LOCK:  # a process that translates one text never imports it
            from cpunmt.translator.streams.item_stream import checked_items, pieces_only, texts_only
        callback, watch = given.pop("callback", None), watch_of(given)
        settings = self.call_settings({**given, **batch_sizes(max_batch_size, batch_type)}, options)
        vocabularies = self.source_vocabulary, self.target_vocabulary
        items = checked_items(source, target_prefix, vocabularies, self.config)
        if of_texts := [name for name in TEXT_ONLY if name in given]:
            items = texts_only(items, of_texts[0])
        if callback is not None:
            self._check_callback(callback, settings)
            items = pieces_only(items)
        if switch("ordered", ordered):
            return self._stream(items, settings, watch, callback)
        if callback is not None:
            raise ValueError("callback is given and ordered is False, expected True with it")
        return self._unordered(items, settings, watch)

    def generate_text(
        self,
        text: str,
        *,
        target_prefix: str | None = None,
        options: Options | SetName | None = None,
        **given: Unpack[TranslationOptions],
    ) -> Iterator[str]:
        """Translates a text, and yields the translation in increments that together equal the output of `translate`.

        Increments are a few characters if the pieces of a search are known before it ends (`beam_size` 1, no `retry`)
        and no layer changes the sentence; else sentences. HTML, and models that translate from right to left, yield one
        increment at the end. Sentences are translated one after the other. To stop, close the iterator or drop it.
        Takes the arguments of `translate`.
        """
        watch = watch_of(chosen := {**given})
        settings = self.call_settings(chosen, options)
        self.refuse_unnamed(settings)
        if not isinstance(text, str):
            raise TypeError(f"generate_text takes a text, not {type(text).__name__}; use translate_iterable")
        prefix = self._prefixes(text_ids).ids(target_prefix)
        return watched(self._increments(str.__str__(text), prefix, settings), watch)

    def _increments(self, text: str, prefix: list[int], settings: Settings) -> Iterator[str]:
        with LOCK:  # a process that translates whole texts never imports it
            from cpunmt.translator.streams.text_stream import joined_increments, sentence_increments, tells_pieces
        model, tells = self.loaded, settings.is_alone and not _name(settings) and tells_pieces(settings)

        def translated(sentence: str, is_first: bool = True) -> Iterator[str]:
            forced = prefix if is_first else []
            ids = self._ids_alone(sentence, settings, bool(forced)) if tells else None
            if ids is None:
                yield found_of(self.translate_sentences([sentence], [forced], settings)[0]).text
                return
            yield from sentence_increments(
                model, settings, (sentence, ids, forced), lambda result: self._mended(sentence, result, settings).text
            )

        cutter, is_marked_up = self._cutter(settings), settings.options.html or settings.options.xml
        cut = None if cutter is None or is_marked_up else cutter.cut(text, bool(prefix))
        if cutter is not None and cut is not None and cut.spans:
            found = joined_increments(cut, cutter.unspaced(text), translated)
        elif cutter is None and not is_marked_up:
            found = translated(text)
        else:
            found = (result.text for result in self._texts([text], [prefix], settings))
        yield from filter(None, found)

    def _alone(self, text: str, settings: Settings) -> Result | None:
        """Translates one sentence in one part, 4 us faster than a `Call` for many; returns None for other texts."""
        if settings.first is not None and settings.options.retry == "loops":
            result = self._alone(text, settings.first)
            return None if result is None or result.repeats else result
        if self._cache is not None or _name(settings) or not settings.is_alone:
            return None
        self.refuse_unnamed(settings)
        split = settings.options.split
        if split != "none" and not (isinstance(split, str) and is_plain(text)):
            cutter = self._cutter(settings)
            if cutter and not cutter.is_one(text):
                return None
        return self._one(text, settings)

    def _one(self, text: str, settings: Settings) -> Result | None:
        """Translates a sentence with settings that are `is_alone`; returns None if a layer has to act beforehand."""
        options, model = settings.options, self._loaded or self.loaded
        if (ids := self._ids_alone(text, settings)) is None:
            return None
        found = model.engine.translate([ids], [target_limit(len(ids), 0, options, model.config)], settings.search)
        judge = Judge(self.spoken(settings).target, options.protect == "all")
        source = Source(len(text), judged=(text, judge))
        result = make_result(found, [len(ids) - 1], model.target_vocabulary, source, options)
        mended = self._mended(text, result, settings)
        return result if mended is result else mended.judged(text, judge)

    def _ids_alone(self, text: str, settings: Settings, begun: bool = False) -> list[int] | None:
        """Returns the ids of a sentence in one part that no layer changes beforehand; else None.

        `begun`: its translation has a forced beginning, so no layer changes it afterwards.
        """
        options, vocabulary = settings.options, self.source_vocabulary
        if self.config.right_to_left or (options.glossary is not None and not begun):
            return None
        plain = has_no_codes(text) and options.protect in ("all", "none") and not text.isupper()
        if not (plain or begun or self._layers.leave(text, options)):
            return None
        ids = vocabulary.encode(text)
        unknown = plain and not begun and vocabulary.unk_id in ids and options.protect != "none"
        return ids if 1 < len(ids) <= self.config.max_source_length and not unknown else None

    def _mended(self, text: str, result: Result, settings: Settings) -> Result:
        """Applies the layers to the translation of a sentence that they did not change."""
        if not has_digits(text):
            return result
        return self._layers.mended(text, result, settings.options, lambda: self._engine_layer(settings)(None))

    def _results(
        self, items: Sequence[Item], settings: Settings, callback: Callback | None = None, first: int = 0
    ) -> list[Any]:
        """Returns the results of items, which are all texts or all pieces."""
        if items[0].ids is not None:
            return super()._results(items, settings, callback, first)
        return self._texts([str(item.source) for item in items], [item.prefix for item in items], settings)

    def _texts(self, texts: Sequence[str], forced: Sequence[list[int]], settings: Settings) -> list[Result]:
        """Returns the results of texts; the translation of each begins with its forced ids."""
        return translate_texts(texts, forced, self._text_call(settings))

    def text_call(self, given: Mapping[str, Any]) -> TextCall:
        """Returns the call that translates texts with options; for the server, which shares sentences among calls."""
        return self._text_call(self.call_settings(given, None))

    def _text_call(self, settings: Settings) -> TextCall:
        self.refuse_unnamed(settings)
        return TextCall(settings, self.spoken(settings), self._cutter(settings), self.translate_sentences)

    def translate_sentences(
        self, texts: Sequence[str], forced: Sequence[list[int]], settings: Settings
    ) -> list[Aligned]:
        """Translates single sentences, shared among the workers; for `Pivot`, and for the server's `text_call`."""
        return self.translate_each(texts, forced, [settings] * len(texts))

    def translate_each(
        self, texts: Sequence[str], forced: Sequence[list[int]], each: Sequence[Settings]
    ) -> list[Aligned]:
        """Translates single sentences with the settings of each, which differ in languages only."""
        if any(map(_name, each)):
            return told(self._kept_or_translated, self.source_vocabulary)(texts, forced, each)
        return self._kept_or_translated(texts, forced, each)

    def _kept_or_translated(
        self, texts: Sequence[str], forced: Sequence[list[int]], each: Sequence[Settings]
    ) -> list[Aligned]:
        if self._cache is None:
            return self._tried(texts, forced, each)

        def make(numbers: Sequence[int]) -> list[Aligned]:
            some = [texts[n] for n in numbers], [forced[n] for n in numbers]
            return self._tried(*some, [each[n] for n in numbers])

        keys = list(zip(texts, map(tuple, forced), each, strict=True))
        return self._cache.all_of(texts, keys, make)

    def _tried(self, texts: Sequence[str], forced: Sequence[list[int]], each: Sequence[Settings]) -> list[Aligned]:
        if not each or each[0].options.retry is None:
            return self._of_directions(texts, forced, each)
        with LOCK:  # most processes never import it
            from cpunmt.sentence_layers.retrying import retrying
        return retrying(self._of_directions, self.source_vocabulary, self.spoken)(texts, forced, each)

    def _of_directions(
        self, texts: Sequence[str], forced: Sequence[list[int]], each: Sequence[Settings]
    ) -> list[Aligned]:
        """Translates sentences of any languages: those that no layer changes beforehand in the same batches."""
        if not each:
            return []
        if all(one is each[0] for one in each):
            return self._translated(texts, forced, each[0])
        apart: dict[Settings, list[int]] = {}
        ids: dict[int, list[int]] = {}
        for number, settings in enumerate(each):
            alone = self._ids_alone(texts[number], settings, bool(forced[number])) if settings.is_alone else None
            if alone is None:
                apart.setdefault(settings, []).append(number)
            else:
                ids[number] = alone
        together, found = list(ids), dict[int, Aligned]()

        def translate(places: Sequence[int], _: SharedWork | None) -> list[Aligned]:
            numbers = [together[place] for place in places]
            sources, chosen = [ids[n] for n in numbers], [texts[n] for n in numbers]
            prefixes, named = [forced[n] for n in numbers], [each[n].search for n in numbers]
            results = translate_sentences(self.loaded, each[0], sources, prefixes, chosen, named=named)
            pairs = zip(numbers, results, strict=True)
            made = [(n, one if forced[n] else self._mended(texts[n], one, each[n])) for n, one in pairs]
            return [Aligned(texts[n], one.text, found=one) for n, one in made]

        if together:
            call = Call(self._workers, list(map(len, ids.values())), translate)
            found |= zip(together, call.results(), strict=True)
        for settings, numbers in apart.items():
            some = [texts[n] for n in numbers], [forced[n] for n in numbers]
            found |= zip(numbers, self._translated(*some, settings), strict=True)
        return [found[number] for number in range(len(texts))]

    def _translated(self, texts: Sequence[str], forced: Sequence[list[int]], settings: Settings) -> list[Aligned]:
        alone = len(texts) == 1 and not forced[0] and settings.is_alone and not is_watched()
        if alone and (result := self._one(texts[0], settings)):
            return [Aligned(texts[0], result.text, found=result)]

        def translate(numbers: Sequence[int], _: SharedWork | None) -> list[Aligned]:
            return self._layers.translate(
                [texts[number] for number in numbers],
                [forced[number] for number in numbers],
                settings.options,
                self._engine_layer(settings),
                lambda: forced_layer(self.loaded, settings, is_unspaced(self.spoken(settings).target)),
            )

        return Call(self._workers, [len(text) // CHARS_PER_PIECE + 1 for text in texts], translate).results()

    def _engine_layer(self, settings: Settings) -> Callable[[Sequence[list[int]] | None], Layer]:
        """Returns a callable that takes the beginnings of translations and returns the lowest layer."""
        return lambda begun: engine_layer(self.loaded, settings, begun, is_unspaced(self.spoken(settings).target))

    def _cutter(self, settings: Settings) -> Cutter | None:
        """Returns the cutter of texts; None if texts are not cut."""
        split = settings.options.split
        return None if split == "none" else Cutter(split, self.spoken(settings), self.source_vocabulary)


def _name(settings: Settings) -> str:
    """Returns the name of the target language that the model reads in a text; else an empty text."""
    name: str = getattr(settings.options.target_lang, "name", "")
    return name
