"""Scores given translations: the calls of a `Translator` that do not search."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, Union, overload

from cpunmt.decoding.call_settings import AsyncResult, Call, Settings, watch_of
from cpunmt.decoding.scoring import refuse_long, score_pairs
from cpunmt.files.windows import windows
from cpunmt.options.arguments import (
    AnyPath,
    Detokenize,
    Tokenize,
    ended_ids,
    in_order,
    piece_lists,
    source_ids,
    text_list,
)
from cpunmt.options.option_sets import SetName
from cpunmt.options.options import SCORING, Options
from cpunmt.process.first_use import LOCK
from cpunmt.process.stopping import SharedWork, Watch, under
from cpunmt.results.results import ExecutionStats, ScoringResult
from cpunmt.translator.loaded_model import ModelOwner, languages_apart
from cpunmt.values.checks import switch, whole

if TYPE_CHECKING:
    from typing_extensions import Unpack  # in typing since Python 3.11

    from cpunmt.options.options import BatchScoringOptions, ScoringOptions, StreamScoringOptions
else:  # for typing.get_type_hints; Python 3.10 has no Unpack, and Union[Any] is Any
    BatchScoringOptions = StreamScoringOptions = Any
    Unpack = Union

WINDOW = 2048  # pairs or sentences of a stream that are sorted by length together
LONG = 512  # pieces: scoring a longer text would delay an interrupt


class Scorer(ModelOwner):
    """A scorer of given translations, with one model."""

    @overload
    def score(  # type: ignore[overload-overlap]  # pyright: ignore[reportOverlappingOverload]
        self, source: str, target: str, *, options: Options | SetName | None = None, **given: Unpack[ScoringOptions]
    ) -> ScoringResult: ...

    @overload
    def score(
        self,
        source: Iterable[str],
        target: Iterable[str],
        *,
        options: Options | SetName | None = None,
        **given: Unpack[ScoringOptions],
    ) -> list[ScoringResult]: ...

    def score(
        self,
        source: str | Iterable[str],
        target: str | Iterable[str],
        *,
        options: Options | SetName | None = None,
        **given: Any,
    ) -> ScoringResult | list[ScoringResult]:
        """Scores the text `target` as a translation of the text `source`; or lists of both.

        Takes the options of `score_batch`. `source_lang` and `target_lang` may be lists with a language for each pair.
        """
        watch = watch_of(given)
        if isinstance(source, str) != isinstance(target, str):
            raise TypeError("score takes two texts or two lists of texts, not one of each")
        given, listed = (given, {}) if isinstance(source, str) else languages_apart(given)
        base = self._scoring(options)
        settings = self.call_settings(given, base, SCORING)
        texts = ([source], [target]) if isinstance(source, str) else (source, target)
        given_sources = text_list(texts[0], "source of score", "source")
        each = self.settings_of_each(given, listed, base, len(given_sources), SCORING)
        settings = each[0] if each else settings
        sources = self.source_vocabulary.encode_batch(self.named(given_sources, settings, each))
        given_targets = text_list(texts[1], "target of score", "target", len(sources) + 1)
        targets = self.target_vocabulary.encode_batch(given_targets)
        call = self._scores(sources, targets, settings, each=each)
        with under(watch):
            results = call.results()
        return results[0] if isinstance(source, str) else results

    @overload
    def score_batch(
        self,
        source: Iterable[Iterable[str]],
        target: Iterable[Iterable[str]],
        *,
        offset: int = 0,
        asynchronous: Literal[False] = False,
        options: Options | SetName | None = None,
        **given: Unpack[BatchScoringOptions],
    ) -> list[ScoringResult]: ...

    @overload
    def score_batch(
        self,
        source: Iterable[Iterable[str]],
        target: Iterable[Iterable[str]],
        *,
        offset: int = 0,
        asynchronous: Literal[True],
        options: Options | SetName | None = None,
        **given: Unpack[BatchScoringOptions],
    ) -> list[AsyncResult[ScoringResult]]: ...

    @overload
    def score_batch(
        self,
        source: Iterable[Iterable[str]],
        target: Iterable[Iterable[str]],
        *,
        offset: int = 0,
        asynchronous: bool,
        options: Options | SetName | None = None,
        **given: Unpack[BatchScoringOptions],
    ) -> list[ScoringResult] | list[AsyncResult[ScoringResult]]: ...

    def score_batch(
        self,
        source: Iterable[Iterable[str]],
        target: Iterable[Iterable[str]],
        *,
        offset: int = 0,
        asynchronous: bool = False,
        options: Options | SetName | None = None,
        **given: Any,
    ) -> list[ScoringResult] | list[AsyncResult[ScoringResult]]:
        """Scores given translations; sources and targets are pieces. CTranslate2's call.

        Probabilities are over the whole vocabulary by default, also with `options`. `vocabulary="shortlist"` scores as
        `translate` does where there is a shortlist; a piece outside it has log-probability minus infinity.
        `length_penalty`, `word_penalty` and `coverage_penalty` apply to the score; the first `offset` pieces are
        skipped. Raises ValueError for more than 4,095 pieces, because scoring does not split.
        """
        watch = watch_of(given)
        sentences = piece_lists(source, "source of score_batch")
        sources = [source_ids(pieces, self.source_vocabulary) for pieces in sentences]
        items = in_order(target, "target of score_batch", "a list with a list of pieces for each sentence")
        counted = enumerate(islice(items, len(sources) + 1))
        targets = [ended_ids(pieces, number, self.target_vocabulary) for number, pieces in counted]
        is_asynchronous = switch("asynchronous", asynchronous)
        given, listed = languages_apart(given)
        base = self._scoring(options)
        settings = self.call_settings(given, base, SCORING)
        each = self.settings_of_each(given, listed, base, len(sources), SCORING)
        call = self._scores(sources, targets, each[0] if each else settings, _checked_offset(offset), each)
        if is_asynchronous:
            return call.asynchronous(watch)
        with under(watch):
            return call.results()

    def score_iterable(
        self,
        source: Iterable[str] | Iterable[Iterable[str]],
        target: Iterable[str] | Iterable[Iterable[str]],
        max_batch_size: int | None = None,
        batch_type: Literal["examples", "tokens"] = "examples",
        *,
        offset: int = 0,
        options: Options | SetName | None = None,
        **given: Unpack[StreamScoringOptions],
    ) -> Iterator[ScoringResult]:
        """Scores a stream in constant memory, with one result per pair, in order. CTranslate2's call.

        Both sides are texts, as in `score`, or lists of pieces, as in `score_batch`. Windows and wrong items work as in
        `translate_iterable`. Raises ValueError if one side ends first.
        """
        with LOCK:
            from cpunmt.translator.streams.item_stream import paired_arguments
        chosen: dict[str, Any] = {**given, **batch_sizes(max_batch_size, batch_type)}
        watch, settings = watch_of(chosen), self.call_settings(chosen, self._scoring(options), SCORING)
        return self._score_stream(paired_arguments(source, target), settings, _checked_offset(offset), watch)

    def _score_stream(
        self, pairs: Iterator[tuple[object, object]], settings: Settings, offset: int, watch: Watch | None
    ) -> Iterator[ScoringResult]:
        with LOCK:
            from cpunmt.translator.streams.item_stream import checked_pairs
        vocabularies = self.source_vocabulary, self.target_vocabulary
        checked = checked_pairs(pairs, vocabularies, lambda text: self.named([text], settings)[0])
        for window in windows(checked, 1, WINDOW):
            sources, targets = zip(*window, strict=True)
            call = self._scores(sources, targets, settings, offset)
            with under(watch):
                results = call.results()
            yield from results

    def score_file(
        self,
        source_path: AnyPath,
        target_path: AnyPath,
        output_path: AnyPath,
        *,
        read_batch_size: int = 0,
        offset: int = 0,
        with_tokens_score: bool = False,
        source_tokenize_fn: Tokenize | None = None,
        target_tokenize_fn: Tokenize | None = None,
        target_detokenize_fn: Detokenize | None = None,
        options: Options | SetName | None = None,
        **given: Unpack[BatchScoringOptions],
    ) -> ExecutionStats:
        """Scores the lines of one file as translations of those of another: CTranslate2's call.

        The output has a line `score ||| target` for each pair. Lines are pieces separated by spaces; for plain text see
        `translate_file`.

        Parameters
        ----------
        output_path : written under another name, and renamed when complete
        read_batch_size : has no effect
        with_tokens_score : write ` ||| ` and the log-probability of each piece, </s> included, after each
        options, given, offset : see `score_batch`

        Raises CpunmtError for a file that cannot be used, or if the files have different numbers of lines.
        """
        with LOCK:
            from cpunmt.translator.streams.line_files import FilePaths, Tokenizers, score_file
        chosen: dict[str, Any] = {**given}
        watch, settings = watch_of(chosen), self.call_settings(chosen, self._scoring(options), SCORING)
        offset = _checked_offset(offset)
        return score_file(
            lambda pairs: self._score_stream(pairs, settings, offset, watch),
            FilePaths(source_path, output_path, target_path),
            Tokenizers(source_tokenize_fn, target_tokenize_fn, target_detokenize_fn),
            switch("with_tokens_score", with_tokens_score),
        )

    def _scoring(self, options: Options | SetName | None) -> Options:
        """Returns options with the whole vocabulary unless another one is requested."""
        base = self._scored_by if options is None else self._base(options)
        return replace(base, vocabulary="full") if base.vocabulary is None else base

    def _scores(
        self,
        sources: Sequence[list[int]],
        targets: Sequence[list[int]],
        settings: Settings,
        offset: int = 0,
        each: Sequence[Settings] | None = None,
    ) -> Call[ScoringResult]:
        """Makes the call that scores pairs of id lists; `each`: the settings of each, if they differ in languages."""
        if len(sources) != len(targets):
            some = "more" if len(targets) > len(sources) else len(targets)
            raise ValueError(f"{len(sources)} sources and {some} targets, expected as many of both")
        for name, side in (("source", sources), ("target", targets)):
            for number, ids in enumerate(side):
                refuse_long(name, number, ids)
        self.refuse_unnamed_pieces(each or settings, sources)
        model = self.loaded

        def score(numbers: Sequence[int], shared: SharedWork | None) -> list[ScoringResult]:
            chosen = [sources[number] for number in numbers], [targets[number] for number in numbers]
            named = None if each is None else [each[number].search for number in numbers]
            return score_pairs(model, settings, *chosen, offset, shared, named)

        sizes = [len(source) + len(target) for source, target in zip(sources, targets, strict=True)]
        is_long = max(map(len, (*sources, *targets)), default=0) > LONG
        apart = is_long and threading.current_thread() is threading.main_thread()  # others are not interrupted
        return Call(self._workers, sizes, score, apart)


def batch_sizes(max_batch_size: int | None, batch_type: str) -> dict[str, Any]:
    """Converts a stream's arguments to options; a size of None leaves the option as it is."""
    size = {} if max_batch_size is None else {"max_batch_size": max_batch_size}
    return {**size, "batch_type": batch_type}


def _checked_offset(offset: int) -> int:
    return whole("offset", offset, 0, 1 << 30)
