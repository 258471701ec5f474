"""The base of `Translator`: the loaded model, its worker threads, copies and pickles."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from cpunmt.alignment.aligned import Aligned
from cpunmt.decoding.call_settings import Settings, settings_of
from cpunmt.decoding.loading import LoadedModel, load_model
from cpunmt.engine.engine import Engine
from cpunmt.layers.schemes import SCHEMES
from cpunmt.model.config import ModelConfig
from cpunmt.options.arguments import (
    MOST_MODELS,
    MOST_THREADS,
    AnyPath,
    expect,
    in_order,
    language_list,
    piece_list,
    wrong_item,
)
from cpunmt.options.contradictions import refuse_missing
from cpunmt.options.option_sets import SetName, option_set
from cpunmt.options.options import SPOKEN, Options, make_options, model_options
from cpunmt.process.first_use import LOCK
from cpunmt.process.workers import Workers
from cpunmt.registry.store import Languages, is_name, languages_of, located, model_languages
from cpunmt.sentence_layers.all_layers import SentenceLayers
from cpunmt.sentences.language_layer import named
from cpunmt.sentences.sentence_cache import SentenceCache
from cpunmt.text.languages.codes import preferred
from cpunmt.text.vocabularies.piece_vocabulary import AnyVocabulary
from cpunmt.text.vocabularies.vocabulary import WORD
from cpunmt.values.checks import shown, whole

_Owner = TypeVar("_Owner", bound="ModelOwner")


class ModelOwner:
    """A model loaded from its directory, or several that translate together, an ensemble.

    A pickle stores its path and arguments, and attributes that a subclass adds; unpickling loads the model again. A
    copy shares the weights.

    Attributes
    ----------
    path : Path
        The model's directory, as the caller named it; relative to the folder that was current then. For an ensemble,
        the first one.
    paths : tuple of Path
        The directory of each model of an ensemble, or the only one.
    weights : tuple of float
        The weight of each model, as given; only their ratio counts.
    options : Options
        The defaults of this model, for calls without options.
    config : ModelConfig
        Sizes, layers and storage of the model, or of an ensemble's first one.
    metadata : dict
        The metadata of its directory: languages, licence, origin.
    source_vocabulary, target_vocabulary
        Its pieces.
    """

    path: Path
    paths: tuple[Path, ...]
    weights: tuple[float, ...]
    options: Options
    config: ModelConfig
    metadata: dict[str, Any]
    source_vocabulary: AnyVocabulary
    target_vocabulary: AnyVocabulary
    _names: list[str | None]  # for models given by name, not by path
    _absolute: tuple[Path, ...]
    _wanted: tuple[str, str | None]
    _spoken: tuple[str | None, str | None]
    _threads: tuple[int, int]
    _workers: Workers
    _default: Settings
    _scored_by: Options
    _checked: dict[object, Settings]  # options of earlier calls: a check takes 20 us
    languages: Languages
    _cache_size: int
    _cache: SentenceCache[Aligned] | None
    _loaded: LoadedModel | None
    _layers: SentenceLayers

    def __init__(
        self,
        model_path: AnyPath | Iterable[AnyPath],
        device: str = "cpu",
        *,
        device_index: int | list[int] = 0,
        compute_type: str | dict[str, str] = "default",
        activation_scales: str | None = None,
        weights: Iterable[float] | None = None,
        inter_threads: int = 1,
        intra_threads: int = 0,
        max_queued_batches: int = 0,
        sentence_cache: int = 0,
        source_lang: str | None = None,
        target_lang: str | None = None,
        flash_attention: bool = False,
        tensor_parallel: bool = False,
        files: object = None,
    ):
        """Loads a model's directory: a packed one, or one of Bergamot, Firefox, Marian, OPUS-MT,
        CTranslate2 or Hugging Face; or a package of Argos.

        Parameters
        ----------
        model_path : the directory, a file in it, an .argosmodel file, or the name of a fetched model, such as
            "firefox:ende". A list makes an ensemble: all models translate each sentence together, and the
            log-probability of a piece is the weighted mean of theirs. They need equal vocabularies; their architectures
            may differ. The first model provides the defaults for calls without options
        compute_type : "int8", "float32" or "default": the stored type of a packed model, int8 for others, which are
            converted
        activation_scales : "dynamic", or "static" for the calibrated scales that a Marian file may have
        weights : for an ensemble, a number per model, not less than 0; only their ratio counts. None: equal weights
        inter_threads : number of batches translated in parallel, each by one thread; results are the same. With 1 the
            calling thread does all work; only very long texts use another thread, so that an interrupt need not wait
        max_queued_batches : number of batches that may wait for a thread before a call with asynchronous=True blocks; 0
            or -1: no limit
        sentence_cache : number of sentences, each of at most 2,000 characters, whose translations are kept: the most
            recently used ones. 0: none. Results are the same
        source_lang, target_lang : the languages of calls that name none: see `Options`

        The other arguments are CTranslate2's, and accept only the values that match this engine.

        Raises ModelFileError for a missing or broken directory, ValueError for another value of an argument.
        """
        models = _listed(model_path)
        self._names = [str(model) if is_name(model) else None for model in models]
        self.paths = tuple(map(located, models))  # first: Translator("en", "de") lacks a model, not a device
        self.path = self.paths[0]
        expect("device", device, ["cpu", "auto"], "cpunmt runs on the CPU only")
        expect("device_index", device_index, [0, [0]], "there is one CPU")
        expect("intra_threads", intra_threads, [0, 1], "one thread translates a batch; use inter_threads")
        expect("flash_attention", flash_attention, [False], "it is for GPUs")
        expect("tensor_parallel", tensor_parallel, [False], "it is for GPUs")
        expect("files", files, [None], "a model is loaded from its directory")
        self._threads = (
            whole("inter_threads", inter_threads, 1, MOST_THREADS),
            whole("max_queued_batches", max_queued_batches, -1, 1 << 30),
        )
        self._cache_size = whole("sentence_cache", sentence_cache, 0, 1 << 30)
        if isinstance(compute_type, dict):
            compute_type = compute_type.get("cpu", "default")
        self._spoken = source_lang, target_lang
        self.weights = (1.0,)
        if len(models) > 1 or weights is not None:
            with LOCK:  # a process that translates with one model never imports it
                from cpunmt.decoding.ensemble import checked_weights
            self.weights = checked_weights(weights, len(models))
        self._wanted = compute_type, activation_scales
        self._workers = Workers(*self._threads)
        self._use(self._load(self.paths))  # messages show the paths as the caller wrote them
        self._absolute = tuple(path.absolute() for path in self.paths)  # whatever the later current folder

    def load_model(self, keep_cache: bool = False) -> None:
        """Loads the model again after `unload_model`; the next translation would do so too."""
        self._use(self._load(self._absolute))

    def _load(self, paths: Sequence[Path]) -> LoadedModel:
        if len(paths) == 1:
            return load_model(paths[0], *self._wanted)
        with LOCK:
            from cpunmt.decoding.ensemble import load_ensemble
        return load_ensemble(paths, self.weights, *self._wanted)

    def _use(self, model: LoadedModel) -> None:
        self.config, self.metadata = model.config, model.metadata
        self.source_vocabulary, self.target_vocabulary = model.source_vocabulary, model.target_vocabulary
        self.languages = model_languages(model.metadata, self._names[0] or str(self.path))
        spoken = zip(SPOKEN, self._spoken, strict=True)
        named: dict[str, Any] = {name: value for name, value in spoken if value is not None}
        self._is_full = model.engine.shortlist is not None and not model.engine.shortlist.is_default
        self.options = self._with_ids(replace(model_options(model.config), **named))
        self._default = settings_of(self.options)
        self._scored_by = replace(self.options, vocabulary="full")
        self._checked = {}
        self._layers = SentenceLayers([model.source_vocabulary], [model.config])
        self._cache = self._new_cache()
        self._loaded = model

    def _new_cache(self) -> SentenceCache[Aligned] | None:
        return SentenceCache(self._cache_size) if self._cache_size else None

    def unload_model(self, to_cpu: bool = False) -> None:
        """Frees the memory of the weights once running calls have ended."""
        self._loaded = None

    @property
    def loaded(self) -> LoadedModel:
        while (model := self._loaded) is None:
            with LOCK:  # once, even for several threads
                if self._loaded is None:
                    self.load_model()
        return model

    @property
    def _engine(self) -> Engine:
        return self.loaded.engine

    @property
    def model_is_loaded(self) -> bool:
        """Whether the weights are in memory."""
        return self._loaded is not None

    @property
    def compute_type(self) -> str:
        """The type of the multiplied numbers: "int8", "int16" or "float32"."""
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
    def tensor_parallel(self) -> bool:
        """Always False."""
        return False

    @property
    def num_translators(self) -> int:
        """The number of batches translated in parallel."""
        return self._workers.count

    @property
    def num_queued_batches(self) -> int:
        """The number of batches that wait for a worker thread."""
        return self._workers.queued

    @property
    def num_active_batches(self) -> int:
        """The number of batches that wait for a worker thread or are being translated by one."""
        return self._workers.active

    @property
    def has_shortlist(self) -> bool:
        """Whether the model has a lexical shortlist, or a vocabulary map of CTranslate2."""
        return self._engine.shortlist is not None

    def tokenize(self, text: str) -> list[str]:
        """Returns the source pieces of `text`, as `translate_batch` takes them."""
        return self.source_vocabulary.surfaces(text)

    def detokenize(self, pieces: list[str]) -> str:
        """Returns the text of target pieces, as `translate_batch` returns them."""
        return self.target_vocabulary.text_of(piece_list(pieces, 0))

    def call_settings(
        self, given: Mapping[str, Any], options: Options | SetName | None, allowed: Collection[str] | None = None
    ) -> Settings:
        """Validates the options of a call. `options`: what `given` changes; None: the model's own defaults."""
        if not given and options is None:
            return self._default
        if given.get("glossary") is not None:  # a file is read once per call, each time that it is given
            with LOCK:
                from cpunmt.options.glossary.glossary import glossary_of
            given = {**given, "glossary": glossary_of(given["glossary"])}
        key = (options, allowed, *given.items(), *map(type, given.values()))  # True must not equal 1 here
        hashable = True
        try:
            return self._checked[key]
        except KeyError:
            chosen = make_options(given, self._base(options), allowed)
        except TypeError:  # a list, which may be a valid option or not
            chosen, hashable = make_options(given, self._base(options), allowed), False
        refuse_missing(chosen.vocabulary, self._engine, self.path)
        chosen = self._with_ids(chosen)
        if chosen.end_token is not None:
            with LOCK:
                from cpunmt.options import end_tokens
            if self.config.right_to_left:
                raise ValueError(
                    "end_token is given, but the model translates from right to left (right-left: true), so a "
                    "translation does not end with what it says last; expected None"
                )
            chosen = replace(chosen, end_token=end_tokens.with_ids(chosen.end_token, self.target_vocabulary))
        settings = settings_of(chosen)
        if hashable:
            if len(self._checked) >= 100:
                self._checked.clear()
            self._checked[key] = settings
        return settings

    def settings_of_each(
        self,
        given: Mapping[str, Any],
        listed: Mapping[str, Any],
        options: Options | SetName | None,
        count: int,
        allowed: Collection[str] | None = None,
    ) -> list[Settings] | None:
        """Returns the settings of each of `count` texts, which differ in languages only; equal ones are one object.

        `given`, `listed`: the keywords of a call, by `languages_apart`. None if no languages are listed.
        """
        if not listed:
            return None
        lists = [language_list(name, languages, count) for name, languages in listed.items()]
        directions = list(zip(*lists, strict=True))
        made = {
            direction: self.call_settings({**given, **dict(zip(listed, direction, strict=True))}, options, allowed)
            for direction in dict.fromkeys(directions)
        }
        return [made[direction] for direction in directions]

    def _with_ids(self, options: Options) -> Options:
        """Adds the ids of suppressed sequences in the target vocabulary, and of languages, and the model's own
        vocabulary."""
        if self._is_full and options.vocabulary is None:  # a vocabulary map is used only on request
            options = replace(options, vocabulary="full")
        if options.source_lang is not None or options.target_lang is not None or self.config.prompt:
            with LOCK:
                from cpunmt.options.languages import with_tags
            options = with_tags(options, self.config, self.source_vocabulary, self.languages)
        if options.suppress_sequences is None and not options.disable_unk:
            return options
        with LOCK:
            from cpunmt.options.suppressed_sequences import with_ids
        no_unknown = options.disable_unk and self.config.replace_unknowns  # only these models output it
        return replace(
            options, suppress_sequences=with_ids(options.suppress_sequences, self.target_vocabulary, no_unknown)
        )

    def refuse_unnamed(self, settings: Settings) -> None:
        """Raises ValueError if a model of many languages cannot translate a text with these settings."""
        if self.config.languages:
            with LOCK:
                from cpunmt.options.languages import refuse_unnamed
            refuse_unnamed(settings.options, self.config)

    def named(self, texts: Sequence[str], settings: Settings, each: Sequence[Settings] | None = None) -> list[str]:
        """Returns texts as the model reads them: each begins with the name of its target language, if need be.

        `each`: the settings of each, if they differ. Raises ValueError as `refuse_unnamed`.
        """
        if each is None or each:
            self.refuse_unnamed(settings)
        names = [getattr(one.options.target_lang, "name", "") for one in each or [settings] * len(texts)]
        return named(texts, names, self.source_vocabulary)

    def refuse_unnamed_pieces(
        self, settings: Settings | Sequence[Settings], sentences: Sequence[Sequence[int]]
    ) -> None:
        """Raises ValueError if a source, as ids, does not name the language of the call, where the model reads it
        there: the name is a piece of the source.
        """
        each = [settings] * len(sentences) if isinstance(settings, Settings) else settings
        vocabulary = self.source_vocabulary
        for ids, language in zip(sentences, [one.options.target_lang for one in each], strict=True):
            if (name := getattr(language, "name", "")) and len(ids) > 1:
                first = "".join(vocabulary.pieces(ids[:2])).replace(WORD, " ")
                if not vocabulary.language_end(first):
                    raise ValueError(
                        f"target_lang is {shown(language)}, and the source is given as pieces, which do not name it; "
                        f"begin the pieces with {name.strip()}"
                    )

    def spoken(self, settings: Settings | None = None) -> Languages:
        """Returns the languages of a call; None: of one without options."""
        settings = settings or self._default
        given = settings.options.source_lang, settings.options.target_lang
        if given == (None, None):
            return self.languages
        pairs = zip(given, self.languages, strict=True)
        return Languages(*(preferred(code) if code else known for code, known in pairs))

    def _base(self, options: object) -> Options:
        if options is None:
            return self.options
        chosen = option_set(options)
        unnamed = [name for name in SPOKEN if getattr(chosen, name) is None]
        return chosen.changed(**{name: getattr(self.options, name) for name in unnamed}) if unnamed else chosen

    def __repr__(self) -> str:
        said, many = [self.config.scheme], self.config.languages
        if known := languages_of(self.metadata):
            said.append(f"{len(many)} languages" if many else "{!r} to {!r}".format(*known))
        if self._workers.count > 1:
            said.append(f"inter_threads={self._workers.count}")
        said.append("loaded" if self.model_is_loaded else "not loaded")
        models = " + ".join(repr(name or str(path)) for name, path in zip(self._names, self.paths, strict=True))
        return f"<{type(self).__name__} {models}: {', '.join(said)}>"

    def __getstate__(self) -> dict[str, Any]:
        """Returns arguments and added attributes without weights. Paths become absolute; names are looked up again."""
        threads, queued = self._threads
        compute_type, activation_scales = self._wanted
        models = [name or str(path) for name, path in zip(self._names, self._absolute, strict=True)]
        arguments = {
            "model_path": models if len(models) > 1 else models[0],
            "weights": self.weights if len(models) > 1 else None,
            "compute_type": compute_type,
            "activation_scales": activation_scales,
            "inter_threads": threads,
            "max_queued_batches": queued,
            "sentence_cache": self._cache_size,
            **dict(zip(SPOKEN, self._spoken, strict=True)),
        }
        added = {name: value for name, value in self.__dict__.items() if name not in ModelOwner.__annotations__}
        return {"arguments": arguments, "loaded": self.model_is_loaded, "added": added}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Loads the model from its path; `__init__` of a subclass is not called."""
        ModelOwner.__init__(self, **state["arguments"])
        self.__dict__.update(state["added"])
        if not state["loaded"]:
            self.unload_model()

    def __copy__(self: _Owner) -> _Owner:
        """Returns a copy that shares the weights, which nothing changes; it has its own threads."""
        copied = object.__new__(type(self))
        copied.__dict__.update(self.__dict__)
        copied._workers, copied._checked, copied._cache = Workers(*self._threads), {}, self._new_cache()
        return copied

    def __deepcopy__(self: _Owner, memo: dict[int, Any]) -> _Owner:
        return self.__copy__()


def languages_apart(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the keywords of a call for several texts without its lists of languages, and these."""
    listed = {name: given[name] for name in SPOKEN if not isinstance(given.get(name), str | None)}
    return {name: value for name, value in given.items() if name not in listed}, listed


def _listed(models: AnyPath | Iterable[AnyPath]) -> list[AnyPath]:
    """Returns the models of an ensemble, or the only one. Raises TypeError for other values, ValueError for none."""
    if isinstance(models, str | bytes | os.PathLike):
        given: list[Any] = [models]
    else:
        items = in_order(models, "Translator", "a model's path or name, or a list of them")
        given = list(islice(items, MOST_MODELS + 1))
    if not 1 <= len(given) <= MOST_MODELS:
        has = f"more than {MOST_MODELS}" if given else "no"
        raise ValueError(f"model_path has {has} models, expected 1 to {MOST_MODELS}")
    for place, model in enumerate(given):
        if not isinstance(model, str | bytes | os.PathLike):
            raise wrong_item("model", place, model, "a path or a name")
    # a subclass of str may print differently
    return [str.__str__(model) if isinstance(model, str) else model for model in given]
