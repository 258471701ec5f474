"""Text in, text out: `Translator`."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from cpunmt.files.windows import windows
from cpunmt.model.config import SCHEMES
from cpunmt.process.workers import Workers
from cpunmt.registry.store import located
from cpunmt.translation.arguments import (
    MOST_THREADS,
    expect,
    forced_ids,
    piece_list,
    prefix_ids,
    source_ids,
    target_ids,
    text_ids,
    text_list,
)
from cpunmt.translation.batching import target_limit
from cpunmt.translation.calls import Call, Settings, settings_of
from cpunmt.translation.file_translation import FilePaths, translate_file
from cpunmt.translation.item_stream import checked_items
from cpunmt.translation.joining import make_result, translate_sentences
from cpunmt.translation.loading import load_model
from cpunmt.translation.options import SCORING, make_options, model_options
from cpunmt.translation.results import ExecutionStats, Result, ScoringResult, translation_result
from cpunmt.translation.scoring import refuse_long, score_pairs
from cpunmt.values.checks import whole

WINDOW = 2048  # lines that `translate_iterable` sorts by length at a time
LETTERS = 4  # of a piece, about


class Translator:
    """Translates with one model. One Translator may be shared by many threads.

    translator = Translator("models/ende-tiny")
    translator.translate("A man is riding a bicycle.").text

    Methods and arguments have CTranslate2's names where they mean the same. Where defaults differ: `beam_size` is 1
    (there 2); `min_length` is 0 (there 1); a long source is split (there it is cut after 1,024 pieces); a target may
    have `max_length_factor` times as many pieces as its source (there 256); the shortlist is used if there is one.
    """

    def __init__(
        self,
        model_path: str | bytes | os.PathLike,
        device: str = "cpu",
        *,
        device_index: int | list[int] = 0,
        compute_type: str | dict[str, str] = "default",
        activation_scales: str | None = None,
        inter_threads: int = 1,
        intra_threads: int = 0,
        max_queued_batches: int = 0,
        flash_attention: bool = False,
        tensor_parallel: bool = False,
        files=None,
    ):
        """Load a model's directory: packed by us, or as Bergamot, Firefox, Marian, OPUS-MT and Hugging Face have them.

        Parameters
        ----------
        model_path : the directory, a file in it, or the name of a fetched model, such as "firefox:ende"
        compute_type : "int8", "float32" or "default": what a packed model is, and int8 for others, which are converted
        activation_scales : "dynamic", or "static" for the calibrated scales that a Marian file may have; see `loading`
        inter_threads : so many batches are translated side by side, each by one thread; results are the same. With 1
            the calling thread does all work, and no thread is started.
        max_queued_batches : batches that may wait for a thread before a call with asynchronous=True does; 0, -1: any

        The other arguments are CTranslate2's, at the values that mean what is done here.

        Raises ModelFileError for a missing or broken directory, ValueError for another value of an argument.
        """
        expect("device", device, ["cpu", "auto"], "cpunmt runs on the CPU only")
        expect("device_index", device_index, [0, [0]], "there is one CPU")
        expect("intra_threads", intra_threads, [0, 1], "one thread translates a batch; use inter_threads")
        expect("flash_attention", flash_attention, [False], "it is for GPUs")
        expect("tensor_parallel", tensor_parallel, [False], "it is for GPUs")
        expect("files", files, [None], "a model is loaded from its directory")
        inter_threads = whole("inter_threads", inter_threads, 1, MOST_THREADS)
        max_queued_batches = whole("max_queued_batches", max_queued_batches, -1, 1 << 30)
        if isinstance(compute_type, dict):
            compute_type = compute_type.get("cpu", "default")
        self.path = located(model_path)
        self._wanted = compute_type, activation_scales
        self._workers = Workers(inter_threads, max_queued_batches)
        self.load_model()

    def load_model(self, keep_cache: bool = False):
        """Load the model again after `unload_model`; the next translation would do so too."""
        model = load_model(self.path, *self._wanted)
        self.config, self.metadata = model.config, model.metadata
        self.source_vocabulary, self.target_vocabulary = model.source_vocabulary, model.target_vocabulary
        self.options = model_options(model.config)
        self._default = settings_of(self.options)
        self._checked = {}  # options of earlier calls -> Settings: checking takes 20 us
        self._loaded = model

    def unload_model(self, to_cpu: bool = False):
        """Give the memory of the weights back, when calls that are running have ended."""
        self._loaded = None

    @property
    def _model(self):
        while (model := self._loaded) is None:
            self.load_model()
        return model

    @property
    def _engine(self):
        return self._model.engine

    @property
    def model_is_loaded(self) -> bool:
        """Whether the weights are in memory."""
        return self._loaded is not None

    @property
    def compute_type(self) -> str:
        """What is multiplied: "int8", "int16" or "float32"."""
        return SCHEMES[self.config.scheme]

    @property
    def device(self) -> str:
        """Always "cpu"."""
        return "cpu"

    @property
    def device_index(self) -> list[int]:
        """Always [0]."""
        return [0]

    @property
    def num_translators(self) -> int:
        """How many batches are translated side by side."""
        return self._workers.count

    @property
    def num_queued_batches(self) -> int:
        """Batches that wait for a worker thread."""
        return self._workers.queued

    @property
    def num_active_batches(self) -> int:
        """Batches that wait for a worker thread or are being translated by one."""
        return self._workers.active

    @property
    def has_shortlist(self) -> bool:
        return self._engine.shortlist is not None

    def tokenize(self, text: str) -> list[str]:
        """The source pieces of `text`, as `translate_batch` takes them."""
        return self.source_vocabulary.surfaces(text)

    def detokenize(self, pieces: list[str]) -> str:
        """The text of target pieces, as `translate_batch` gives them."""
        return self.target_vocabulary.text_of(pieces)

    def translate(self, text: str | Iterable[str], target_prefix=None, **options) -> Result | list[Result]:
        """Translate one sentence, or a list of sentences: text gives a Result, a list gives a list of equal length.

        Blank text gives empty text. A sentence longer than the model takes is split at the best place, and the
        translations are joined. A Result does not depend on what is translated beside it.

        `target_prefix` is how the translation must begin: one text for all sentences, or a list with a text or None
        for each. Of a sentence that is split it is the first part's.

        Options: see `cpunmt.Options`. Raises TypeError for an unknown option or another type than text,
        ValueError for a wrong value.
        """
        settings = self._settings(options)
        if isinstance(text, str):
            if target_prefix is None and (alone := self._alone(text, settings)):
                return alone
            return self._texts([text], [forced_ids(target_prefix, *self._prefix(text_ids))], settings).results()[0]
        texts = text_list(text, "translate")
        if target_prefix is None or isinstance(target_prefix, str):
            target_prefix = [target_prefix] * len(texts)
        return self._texts(texts, prefix_ids(target_prefix, len(texts), *self._prefix(text_ids)), settings).results()

    def translate_batch(
        self, source: list[list[str]], target_prefix=None, *, asynchronous: bool = False, **options
    ) -> list:
        """Translate sentences that are pieces already; the results hold pieces. CTranslate2's call.

        </s> at the end of a source is taken for its end. `target_prefix` has a list of pieces or None for each
        sentence. Returns TranslationResults or, if `asynchronous`, objects whose `result()` waits for one.
        """
        settings, source = self._settings(options), [piece_list(pieces, "translate_batch") for pieces in source]
        sentences = [source_ids(pieces, self.source_vocabulary) for pieces in source]
        prefixes = [None] * len(sentences) if target_prefix is None else target_prefix
        forced = prefix_ids(prefixes, len(sentences), *self._prefix(target_ids))
        call = self._pieces(source, sentences, forced, settings)
        return call.asynchronous() if asynchronous else call.results()

    def translate_iterable(
        self,
        source: Iterable,
        target_prefix: Iterable | None = None,
        max_batch_size: int = 0,
        batch_type: str = "examples",
        **options,
    ) -> Iterator:
        """Translate a stream in constant memory: one result for each item, in order.

        Texts give Results, as `translate` does; lists of pieces give TranslationResults, as `translate_batch` does.
        Items are read in windows, sorted by length within each; the first window is one item, so that the first
        result comes soon, and each is twice as long as the one before, up to `WINDOW`. If the source raises, or an
        item is wrong, the results of what came before are given first.

        `target_prefix` is as of `translate` or `translate_batch`, but it may be a stream too.
        """
        settings = self._settings({"max_batch_size": max_batch_size, "batch_type": batch_type, **options})
        if isinstance(source, str):
            raise TypeError("translate_iterable takes texts, not one text; use translate")
        vocabularies = self.source_vocabulary, self.target_vocabulary
        return self._stream(checked_items(source, target_prefix, vocabularies, self.config), settings)

    def _stream(self, items, settings):
        for window in windows(items, 1, WINDOW):
            sources, ids, forced = zip(*window, strict=True)
            if ids[0] is None:
                call = self._texts(sources, forced, settings)
            else:
                call = self._pieces(sources, ids, forced, settings)
            yield from call.results()

    def translate_file(self, source_path, output_path, target_path=None, **arguments) -> ExecutionStats:
        """Translate a file of pieces, one sentence a line: see `cpunmt.translation.file_translation.translate_file`."""
        return translate_file(self, FilePaths(source_path, output_path, target_path), **arguments)

    def score(self, source, target, **options) -> ScoringResult | list[ScoringResult]:
        """How probable the text `target` is as a translation of the text `source`; or lists of both.

        Options are those of `score_batch`.
        """
        if isinstance(source, str) != isinstance(target, str):
            raise TypeError("score takes two texts or two lists of texts, not one of each")
        if isinstance(source, str):
            return self.score([source], [target], **options)[0]
        sources = self.source_vocabulary.encode_batch(text_list(source, "score"))
        targets = self.target_vocabulary.encode_batch(text_list(target, "score"))
        return self._scores(sources, targets, options).results()

    def score_batch(
        self,
        source: list[list[str]],
        target: list[list[str]],
        *,
        offset: int = 0,
        asynchronous: bool = False,
        **options,
    ) -> list:
        """How probable given translations are; sources and targets are pieces. CTranslate2's call.

        Probabilities are over the whole vocabulary: `vocabulary="shortlist"` scores as `translate` does where there
        is a shortlist, and a piece that is not among its candidates has log-probability minus infinity.
        `length_penalty`, `word_penalty` and `coverage_penalty` are those of the score; `offset` leaves out so many
        pieces at the beginning. Raises ValueError for more than 4,095 pieces: what is scored is not split.
        """
        eos = [self.config.eos_id]
        sources = [source_ids(piece_list(pieces, "score_batch"), self.source_vocabulary) for pieces in source]
        targets = [target_ids(pieces, self.target_vocabulary, "target") for pieces in target]
        targets = [ids if ids[-1:] == eos else ids + eos for ids in targets]
        call = self._scores(sources, targets, options, offset)
        return call.asynchronous() if asynchronous else call.results()

    def _settings(self, given: dict) -> Settings:
        if not given:
            return self._default
        key = (*given.items(), *map(type, given.values()))  # True is no 1 here
        try:
            return self._checked[key]
        except (KeyError, TypeError):  # TypeError: what cannot be in a key is no option's type
            options = make_options(given, self.options)
        self._check_vocabulary(options)
        if len(self._checked) >= 100:
            self._checked.clear()
        settings = self._checked[key] = settings_of(options)
        return settings

    def _check_vocabulary(self, options):
        if options.vocabulary == "shortlist" and not self.has_shortlist:
            raise ValueError(f"vocabulary is 'shortlist', but {self.path} has none; expected 'full'")

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

    def _prefix(self, ids_of) -> tuple:
        """What `forced_ids` wants: how a prefix becomes ids, and the config."""
        return lambda prefix: ids_of(prefix, self.target_vocabulary, "target_prefix"), self.config

    def _texts(self, texts: Sequence[str], forced: Sequence[list[int]], settings: Settings) -> Call:
        """A call that translates texts, each of which begins with the ids forced upon it, to Results."""
        model = self._model

        def translate(numbers):
            chosen = [texts[number] for number in numbers]
            ids = model.source_vocabulary.encode_batch(chosen)
            pieces = [model.source_vocabulary.surfaces(text) for text in chosen] if settings.search.attention else None
            return translate_sentences(model, settings, ids, [forced[number] for number in numbers], pieces)

        return Call(self._workers, [len(text) // LETTERS + 1 for text in texts], translate)

    def _pieces(self, source, sentences, forced, settings: Settings) -> Call:
        """A call that translates lists of pieces, of which `sentences` are the ids, to TranslationResults."""
        model = self._model

        def translate(numbers):
            ids, pieces = [sentences[number] for number in numbers], [source[number] for number in numbers]
            results = translate_sentences(model, settings, ids, [forced[number] for number in numbers], pieces)
            return [translation_result(result, settings.options) for result in results]

        return Call(self._workers, [len(ids) for ids in sentences], translate)

    def _scores(self, sources, targets, given, offset=0) -> Call:
        """A call that scores pairs of id lists."""
        if len(sources) != len(targets):
            raise ValueError(f"{len(sources)} sources and {len(targets)} targets, expected as many of both")
        offset = whole("offset", offset, 0, 1 << 30)
        refuse_long("source", sources)
        refuse_long("target", targets)
        options = make_options(given, replace(self.options, vocabulary="full"), SCORING)
        self._check_vocabulary(options)
        model, settings = self._model, settings_of(options)

        def score(numbers):
            pairs = [sources[number] for number in numbers], [targets[number] for number in numbers]
            return score_pairs(model, settings, *pairs, offset)

        sizes = [len(source) + len(target) for source, target in zip(sources, targets, strict=True)]
        return Call(self._workers, sizes, score)
