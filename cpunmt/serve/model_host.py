"""The models of a server: loaded when needed, unloaded when idle or when they take too much memory."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from cpunmt.errors import CpunmtError
from cpunmt.formats.any_directory import kind_of, read_metadata
from cpunmt.registry.store import located, model_languages
from cpunmt.text.languages.codes import plain
from cpunmt.translator.pivot import Pivot
from cpunmt.translator.translator import Translator

_CODE = r"([A-Za-z]{2,3}(?:[_-](?:[A-Za-z]{4}|[A-Z]{2}))?)"  # with a script or a country
_NAMED = re.compile(rf"{_CODE}-{_CODE}=(.+)", re.DOTALL)


MOST_MODELS = 3  # in a row


class Direction(NamedTuple):
    """A pair of languages that a model translates, as codes in its metadata."""

    source: str
    target: str


def chain(directions: Sequence[tuple[Direction, int]], source: str, target: str) -> tuple[int, ...] | None:
    """Returns the shortest chain of models from one language to the other, in the order of their use.

    Of several chains, the one whose models were named first. None if none has at most three models.

    `directions`: the pairs of languages, with the numbers of their models.
    """
    ways: list[tuple[str, tuple[int, ...]]] = [(source, ())]
    seen = {source}
    for _ in range(MOST_MODELS):
        further = []
        for language, models in ways:
            for (read, written), number in directions:
                if read == language and written == target:
                    return (*models, number)
                if read == language and written not in seen:
                    seen.add(written)
                    further.append((written, (*models, number)))
        ways = further
    return None


class Hosted:
    """A translator and its unique number: a reloaded model has another."""

    def __init__(self, translator: Translator | Pivot, number: int, has_several: bool = False):
        """`has_several`: it translates into several languages, and a sentence must begin with the name of one."""
        self.translator, self.number, self.has_several = translator, number, has_several


class ServedModel:
    """A served model: a directory, and its Translator while it is loaded."""

    def __init__(self, named: str):
        """`named`: a directory or a fetched model's name; "de-en=DIRECTORY" also names the languages.

        Raises CpunmtError if it is missing, is not a directory or a file of one, or its languages are unknown.
        """
        found = _NAMED.fullmatch(named)
        self.path = located(found[3] if found else named)
        kind_of(self.path)  # raises if there is no model
        said = model_languages(read_metadata(self.path), named)
        source, target = (found[1], found[2]) if found else said
        if source is None or target is None:
            raise CpunmtError(
                f"{named}: nothing tells which languages the model is for; write en-de={named}, if it translates "
                "English to German"
            )
        pairs = [(plain(one), plain(other)) for one in source.split("+") for other in target.split("+")]
        self.directions = [Direction(one, other) for one, other in pairs if one != other or len(pairs) == 1]
        self.has_several = "+" in (said.target or "")
        self.lock = threading.Lock()
        self.hosted: Hosted | None = None
        self.used = 0.0
        self.bytes = 0


class ModelHost:
    """The models of a server. Threads share it."""

    def __init__(
        self, models: Iterable[str | Path], memory_bytes: int = 0, loaded: Callable[[], object] = lambda: None
    ):
        """Takes directories and names of models; of two for the same languages, the first one is used.

        Parameters
        ----------
        memory_bytes : limit of memory, above which the least recently used models are unloaded; 0: no limit. Requests
        in
            progress keep theirs until they end
        loaded : called after each load
        """
        self.models = [ServedModel(str(model)) for model in models]
        if not self.models:
            raise CpunmtError("no model is named; name one, or several: cpunmt serve en-de de-en")
        self.directions = [(one, number) for number, model in enumerate(self.models) for one in model.directions]
        self._memory, self._loaded = memory_bytes, loaded
        self._lock = threading.Lock()
        self._next = 0
        self._pivots: dict[tuple[int, ...], Hosted] = {}
        self._chains: dict[tuple[str, str], tuple[int, ...] | None] = {}
        self._direct = dict(reversed(self.directions))  # of two models for the same the first
        # Models of several target languages do not take part in chains.
        self._in_chains = [(one, number) for one, number in self.directions if not self.models[number].has_several]
        self.sources = list(dict.fromkeys(one.source for one, _ in self.directions))
        """The languages that are translated from."""
        self.targets = list(dict.fromkeys(one.target for one, _ in self.directions))
        """The languages that are translated into."""
        self.languages = list(dict.fromkeys([*self.sources, *self.targets]))
        """All languages of either side."""

    def targets_of(self, source: str) -> list[str]:
        """Returns the target languages of a source, also through other languages."""
        return [target for target in self.targets if self.leads(source, target)]

    def leads(self, source: str, target: str) -> bool:
        return source != target and self._chain(source, target) is not None

    def between(self, source: str, target: str) -> Hosted | None:
        """Returns what translates from one language to another, loaded if necessary; None if nothing does.

        Raises CpunmtError if a model cannot be loaded.
        """
        numbers = self._chain(source, target)
        if numbers is None:
            return None
        hosted = [self._load(self.models[number]) for number in numbers]
        if len(hosted) == 1:
            return hosted[0]
        key = tuple(one.number for one in hosted)
        with self._lock:
            pivot = self._pivots.get(key)
            if pivot is None:
                there = {one.number for model in self.models if (one := model.hosted)} | set(key)
                self._pivots = {old: one for old, one in self._pivots.items() if there.issuperset(old)}
                pivot = self._pivots[key] = Hosted(Pivot([one.translator for one in hosted]), self._number())  # type: ignore[misc]  # Translators
        return pivot

    def loaded(self, source: str, target: str) -> Hosted | None:
        """Returns the model if it is a single one in memory; None: call `between`, which may take long."""
        numbers = self._chain(source, target)
        if numbers is None or len(numbers) > 1:
            return None
        model = self.models[numbers[0]]
        model.used = time.monotonic()
        return model.hosted

    def _chain(self, source: str, target: str) -> tuple[int, ...] | None:
        """Returns the models from one served language to another; caches results."""
        if (source, target) not in self._chains:
            alone = self._direct.get(Direction(source, target))
            found = chain(self._in_chains, source, target) if alone is None else (alone,)
            self._chains[source, target] = found
        return self._chains[source, target]

    def preload(self, on_failure: Callable[[Direction, Exception], object]) -> bool:
        """Loads the models in their order, as far as there is memory. Returns whether any could be loaded.

        Calls `on_failure` for one that cannot be loaded.
        """
        loaded = []
        for model in self.models:
            try:
                self._load(model)
            except (CpunmtError, OSError, MemoryError) as error:
                on_failure(model.directions[0], error)
                continue
            loaded.append(model)
            if any(one.hosted is None for one in loaded):  # unloaded for this one
                break
        return bool(loaded)

    def unload_idle(self, seconds: float) -> None:
        """Unloads models unused for `seconds`."""
        now = time.monotonic()
        for model in self.models:
            if model.hosted is not None and now - model.used > seconds:
                self._unload(model)

    def close(self) -> None:
        for model in self.models:
            self._unload(model)

    @property
    def loaded_bytes(self) -> int:
        """Returns the bytes of the weights in memory."""
        return sum(model.bytes for model in self.models if model.hosted is not None)

    def _load(self, model: ServedModel) -> Hosted:
        with model.lock:
            model.used = time.monotonic()
            hosted = model.hosted
            if hosted is None:
                translator = Translator(model.path)
                with self._lock:
                    hosted = Hosted(translator, self._number(), model.has_several)
                model.bytes = translator.loaded.engine.model.bytes
                model.hosted = hosted
                self._loaded()
        self._make_room(model)
        return hosted

    def _make_room(self, wanted: ServedModel) -> None:
        while self._memory and self.loaded_bytes > self._memory:
            others = [model for model in self.models if model is not wanted and model.hosted is not None]
            if not others:
                return
            self._unload(min(others, key=lambda model: model.used))

    def _unload(self, model: ServedModel) -> None:
        """Unloads a model; its memory is freed when its requests have ended."""
        with self._lock:
            hosted, model.hosted = model.hosted, None
            if hosted is not None:
                self._pivots = {key: one for key, one in self._pivots.items() if hosted.number not in key}

    def _number(self) -> int:
        self._next += 1
        return self._next
