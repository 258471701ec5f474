"""Translates sentences given as pieces: CTranslate2's calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING, Any, Literal, Union, overload

from cpunmt.decoding.batching import cut_sentences, translate_parts
from cpunmt.decoding.call_settings import AsyncResult, Call, Settings, watch_of
from cpunmt.decoding.joining import TranslateParts, translate_sentences
from cpunmt.files.windows import windows
from cpunmt.options.arguments import (
    AnyPath,
    Detokenize,
    IdsOf,
    Prefixes,
    Tokenize,
    piece_list,
    piece_lists,
    source_ids,
    target_ids,
)
from cpunmt.options.option_sets import SetName
from cpunmt.options.options import GENERATING, OF_PIECES, Options
from cpunmt.process.first_use import LOCK
from cpunmt.process.stopping import SharedWork, Watch, under, watched
from cpunmt.process.workers import Workers
from cpunmt.results.results import ExecutionStats, GenerationStepResult, TranslationResult, translation_result
from cpunmt.translator.document_method import DocumentMethod
from cpunmt.translator.loaded_model import languages_apart
from cpunmt.translator.scorer import WINDOW, Scorer
from cpunmt.values.checks import shown, switch

if TYPE_CHECKING:
    from typing_extensions import Unpack  # in typing since Python 3.11

    from cpunmt.decoding.piece_stream import Callback
    from cpunmt.options.options import BatchOptions, GenerationOptions
    from cpunmt.translator.streams.item_stream import Item
else:  # for typing.get_type_hints; Python 3.10 has no Unpack, and Union[Any] is Any
    BatchOptions = GenerationOptions = Any
    Unpack = Union


MOST_LOGITS = 1 << 30  # bytes of logits that a call may return


class PieceTranslator(DocumentMethod, Scorer):
    """A translator of pieces, with one model."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.__module__.startswith("cpunmt."):  # a Translator, not a user's subclass
            name_methods(cls)

    @property
    def target_language(self) -> str | None:
        """The target language; None if unknown, or if each call of a model of many languages names it."""
        unnamed = self.config.languages and self._default.options.target_lang is None
        return None if unnamed else self.spoken().target

    @overload
    def translate_batch(
        self,
        source: Iterable[Iterable[str]],
        target_prefix: Iterable[Iterable[str] | None] | None = None,
        *,
        asynchronous: Literal[False] = False,
        options: Options | SetName | None = None,
        **given: Unpack[BatchOptions],
    ) -> list[TranslationResult]: ...

    @overload
    def translate_batch(
        self,
        source: Iterable[Iterable[str]],
        target_prefix: Iterable[Iterable[str] | None] | None = None,
        *,
        asynchronous: Literal[True],
        options: Options | SetName | None = None,
        **given: Unpack[BatchOptions],
    ) -> list[AsyncResult[TranslationResult]]: ...

    @overload
    def translate_batch(
        self,
        source: Iterable[Iterable[str]],
        target_prefix: Iterable[Iterable[str] | None] | None = None,
        *,
        asynchronous: bool,
        options: Options | SetName | None = None,
        **given: Unpack[BatchOptions],
    ) -> list[TranslationResult] | list[AsyncResult[TranslationResult]]: ...

    def translate_batch(
        self,
        source: Iterable[Iterable[str]],
        target_prefix: Iterable[Iterable[str] | None] | None = None,
        *,
        asynchronous: bool = False,
        options: Options | SetName | None = None,
        **given: Any,
    ) -> list[TranslationResult] | list[AsyncResult[TranslationResult]]:
        """Translates sentences given as pieces; the results hold pieces. CTranslate2's call.

        A source may end in </s>. `target_prefix` has a list of pieces or None for each sentence; `source_lang` and
        `target_lang` may be lists with a language for each. Returns TranslationResults or, if `asynchronous`, objects
        whose `result()` waits for one.

        `callback` gets a GenerationStepResult for each piece as soon as it is chosen; `batch_id` is the index of its
        sentence. If it returns True, the sentence ends, and its result has the pieces up to then; other sentences do
        not change. The beam is 1; sentences are reported in parallel, from the threads of `inter_threads` and of
        `asynchronous`.

        `return_logits_vocab` fills in the `logits` of results, a row of the vocabulary's size for each piece. Raises
        ValueError if they could take more than a gigabyte.

        `time_limit` and `cancel` work as in `translate`. If `asynchronous`, they end each sentence separately; finished
        sentences keep their results.
        """
        callback, watch = given.pop("callback", None), watch_of(given)
        with_logits = switch("return_logits_vocab", given.pop("return_logits_vocab", False))
        given, listed = languages_apart(given)
        settings, pieces = self.call_settings(given, options, OF_PIECES), piece_lists(source, "translate_batch")
        each = self.settings_of_each(given, listed, options, len(pieces), OF_PIECES)
        settings = each[0] if each else settings
        sentences = [source_ids(sentence, self.source_vocabulary) for sentence in pieces]
        forced = self._prefixes(target_ids).of_all(target_prefix, len(sentences))
        is_asynchronous = switch("asynchronous", asynchronous)
        if callback is not None:
            self._check_callback(callback, settings)
        if with_logits:
            settings = self._keeping_logits(settings, sentences, forced)
        call = self._pieces(pieces, sentences, forced, settings, callback, each=each)
        if is_asynchronous:
            return call.asynchronous(watch)
        with under(watch):
            return call.results()

    def translate_file(
        self,
        source_path: AnyPath,
        output_path: AnyPath,
        target_path: AnyPath | None = None,
        *,
        read_batch_size: int = 0,
        with_scores: bool = False,
        source_tokenize_fn: Tokenize | None = None,
        target_tokenize_fn: Tokenize | None = None,
        target_detokenize_fn: Detokenize | None = None,
        options: Options | SetName | None = None,
        **given: Unpack[BatchOptions],
    ) -> ExecutionStats:
        """Translates a file line by line: CTranslate2's call.

        Input and output lines are pieces separated by spaces. For plain text, pass the model's own functions:

            tokenizer = {"source_tokenize_fn": translator.tokenize, "target_detokenize_fn": translator.detokenize}
            translator.translate_file("in.txt", "out.txt", **tokenizer)

        Parameters
        ----------
        output_path : written under another name, and renamed when complete; a line for each hypothesis
        target_path : a file with a target prefix on each line, which may be empty
        read_batch_size : has no effect: results do not depend on the number of lines sorted together
        with_scores : write the score and ` ||| ` before each hypothesis; `return_scores` means the same
        options, given : see `translate_batch`

        Raises CpunmtError for a file that cannot be used, or if the files have different numbers of lines.
        """
        with LOCK:
            from cpunmt.translator.streams.item_stream import checked_items
            from cpunmt.translator.streams.line_files import FilePaths, Tokenizers, translate_file
        chosen: dict[str, Any] = {**given}
        if switch("with_scores", with_scores):
            chosen["return_scores"] = True
        watch, settings = watch_of(chosen), self.call_settings(chosen, options, OF_PIECES)
        vocabularies = self.source_vocabulary, self.target_vocabulary
        return translate_file(
            lambda sources, prefixes, uneven: self._stream(
                checked_items(sources, prefixes, vocabularies, self.config, uneven), settings, watch
            ),
            FilePaths(source_path, output_path, target_path),
            Tokenizers(source_tokenize_fn, target_tokenize_fn, target_detokenize_fn),
            settings.options.return_scores,
        )

    def generate_tokens(
        self,
        source: Iterable[str],
        target_prefix: Iterable[str] | None = None,
        *,
        return_log_prob: bool = False,
        options: Options | SetName | None = None,
        **given: Unpack[GenerationOptions],
    ) -> Iterator[GenerationStepResult]:
        """Translates a sentence of pieces greedily, and yields each piece as soon as it is chosen. CTranslate2's call.

        The pieces are those of `translate_batch` with beam_size=1, the prefix included, then </s> unless the length
        limit comes first. A blank source yields nothing.

        Takes the options of lengths, `vocabulary`, repetitions, suppressed sequences and sampling. Raises ValueError
        for a model that translates from right to left, because it finds the first piece last.
        """
        with LOCK:
            from cpunmt.decoding.piece_stream import generated_pieces
        if self.config.right_to_left:
            raise ValueError(
                "generate_tokens gives the first piece first, but this model translates from right to left "
                "(right-left: true); use translate_batch"
            )
        chosen: dict[str, Any] = {**given}
        watch, settings = watch_of(chosen), self.call_settings(chosen, options, GENERATING)
        ids = source_ids(piece_list(source, 0), self.source_vocabulary)
        self.refuse_unnamed_pieces(settings, [ids])
        prefix = self._prefixes(target_ids).ids(target_prefix)
        with_log_prob = switch("return_log_prob", return_log_prob)
        return watched(generated_pieces(self.loaded, settings, ids, prefix, with_log_prob), watch)

    def _check_callback(self, callback: object, settings: Settings) -> None:
        """Raises TypeError unless `callback` is callable, ValueError unless pieces are chosen one by one."""
        options = settings.options
        if not callable(callback):
            raise TypeError(f"callback is {shown(callback)}, expected a function of a GenerationStepResult, or None")
        if self.config.right_to_left:
            raise ValueError(
                "callback is given, but the model translates from right to left (right-left: true); expected None"
            )
        for name, needed in (("beam_size", 1), ("num_hypotheses", 1), ("prefix_bias_beta", 0)):
            if getattr(options, name) != needed:
                raise ValueError(f"callback is given and {name} is {getattr(options, name)}, expected {needed} with it")
        if options.rerank is not None:
            raise ValueError(f"callback is given and rerank is {options.rerank!r}, expected None with it")
        if settings.search.patience and settings.search.most_ended > 1:
            raise ValueError(f"callback is given and patience is {options.patience}, expected 1 or None with it")

    def _keeping_logits(
        self, settings: Settings, sentences: Sequence[list[int]], forced: Sequence[list[int]]
    ) -> Settings:
        """Returns settings that keep logits; raises ValueError if these sentences could have too many."""
        options, size = settings.options, self.config.vocab_size
        parts = cut_sentences(sentences, forced, options, self.config, self.source_vocabulary)
        pieces = settings.search.num_hypotheses * sum(part.limit for part in parts)
        if 4 * pieces * size > MOST_LOGITS:
            raise ValueError(
                f"return_logits_vocab is True, and {len(sentences)} sentences may get {pieces} pieces, each with "
                f"{size} logits: {4 * pieces * size} bytes, expected at most {MOST_LOGITS}; give fewer sentences to a "
                "call, or a smaller max_length"
            )
        return Settings(options, settings.search._replace(vocab_logits=True))

    def _prefixes(self, ids_of: IdsOf) -> Prefixes:
        return Prefixes(ids_of, self.target_vocabulary, self.config)

    def _stream(
        self,
        items: Iterator[Item],
        settings: Settings,
        watch: Watch | None = None,
        callback: Callback | None = None,
    ) -> Iterator[Any]:
        """Yields the results of items, in order."""
        first = 0
        for window in windows(items, 1, WINDOW):
            with under(watch):
                results = self._results(window, settings, callback, first)
            first += len(window)
            yield from results

    def _unordered(
        self, items: Iterator[Item], settings: Settings, watch: Watch | None = None
    ) -> Iterator[tuple[int, Any]]:
        """Yields (number, result) of items as they are finished."""
        with LOCK:
            from cpunmt.translator.streams.unordered import unordered
        alone = copy(self)  # its results are made by any thread that requests them
        alone._workers, alone._cache = Workers(1), self._cache

        def made(some: Sequence[Item]) -> list[Any]:
            with under(watch):
                return alone._results(some, settings)

        return unordered(windows(items, 1, WINDOW), lambda item: item.size, made, self._workers)

    def _results(
        self, items: Sequence[Item], settings: Settings, callback: Callback | None = None, first: int = 0
    ) -> list[Any]:
        """Returns the results of items given as pieces; `callback` numbers them from `first`."""
        sources = [list(item.source) for item in items]
        ids = [item.ids or [] for item in items]
        return self._pieces(sources, ids, [item.prefix for item in items], settings, callback, first).results()

    def _pieces(
        self,
        source: Sequence[list[str]],
        sentences: Sequence[list[int]],
        forced: Sequence[list[int]],
        settings: Settings,
        callback: Callback | None = None,
        first: int = 0,
        each: Sequence[Settings] | None = None,
    ) -> Call[TranslationResult]:
        """Makes the call that translates lists of pieces to TranslationResults.

        Parameters
        ----------
        sentences : their ids
        each : the settings of each, if they differ in languages
        """
        self.refuse_unnamed_pieces(each or settings, sentences)
        model = self.loaded
        if not settings.options.return_scores:
            settings = settings._replace(search=settings.search._replace(scored=False))

        def translate(numbers: Sequence[int], shared: SharedWork | None) -> list[TranslationResult]:
            ids, pieces = [sentences[number] for number in numbers], [source[number] for number in numbers]
            prefixes = [forced[number] for number in numbers]
            parts: TranslateParts = partial(translate_parts, shared=shared)
            if callback is not None:
                with LOCK:
                    from cpunmt.decoding.piece_stream import search_with_callback
                counted = [first + number for number in numbers]
                parts = search_with_callback(
                    model.target_vocabulary, counted, callback, settings.options.return_scores, shared
                )
            named = None if each is None else [each[number].search for number in numbers]
            results = translate_sentences(model, settings, ids, prefixes, pieces, parts, named)
            return [translation_result(result, settings.options) for result in results]

        return Call(self._workers, [len(ids) for ids in sentences], translate)


def name_methods(public: type) -> None:
    """Renames inherited methods, so that Python's messages name the public class.

    "Translator.__init__() missing 1 required positional argument", for example.
    """
    for base in public.__mro__[:-1]:
        for name, function in vars(base).items():
            if isinstance(function, FunctionType):
                shared = "document_method" in function.__module__  # shared with Pivot, so these name no class
                function.__qualname__ = name if shared else f"{public.__name__}.{name}"
