"""The path of a request: from texts to results, by the served models."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Awaitable, Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from starlette.requests import Request

from cpunmt.alignment.aligned import Aligned
from cpunmt.decoding.call_settings import Settings
from cpunmt.engine import program
from cpunmt.errors import CpunmtError
from cpunmt.files.windows import windows
from cpunmt.options.options import SPOKEN
from cpunmt.process.stopping import Watch, under
from cpunmt.results.results import Hypothesis, Result
from cpunmt.serve.detection import AUTO, Detector, Wanted, settled
from cpunmt.serve.errors import ServeError, bad, said
from cpunmt.serve.keys import Keys
from cpunmt.serve.metrics import Metrics
from cpunmt.serve.model_host import Hosted, ModelHost
from cpunmt.serve.queue.arriving import Arriving
from cpunmt.serve.queue.scheduler import Limits, Scheduler
from cpunmt.serve.queue.waiting import Task
from cpunmt.serve.settings import ServeSettings
from cpunmt.serve.usage import Rates, Usage
from cpunmt.translator.document_method import DocumentMethod
from cpunmt.translator.streams.text_stream import joined_increments
from cpunmt.translator.text_pipeline import OfDirections, TextCall, after, text_steps, translate_texts
from cpunmt.translator.translator import Translator

T = TypeVar("T")
LOG = logging.getLogger("cpunmt.serve")
_BESIDE = 4  # threads beside the requests'
_LITTLE = 1000  # characters that the event loop splits into sentences, in 0.2 ms
_SLOW = ("html", "xml", "glossary")  # slower options
_SOON = 0.25  # seconds before the first check whether a request's client has left
_LOOK = 5.0  # seconds between checks for idle models
_MOST_AT_ONCE = 64  # sentences of a stream in a batch


class Service:
    """The models, queue, keys and counters of one server."""

    def __init__(self, models: Sequence[str | Path], settings: ServeSettings):
        self.settings, self.metrics, self.keys = settings, Metrics(), Keys(settings.api_keys)
        self.usage = Usage(settings.quota, settings.quota_hours, self.keys.are_required)
        self.rates = Rates(settings.max_rate)
        self.host = ModelHost(models, settings.memory << 20, self.metrics.loaded)
        limits = Limits(settings.batch_tokens, settings.max_queued, settings.deadline)
        self.scheduler = Scheduler(settings.workers, limits, settings.cache_mb << 20, self.metrics)
        self.detector = Detector(self.host.languages)
        self.draining, self.in_flight, self.failure = False, 0, ""
        for name, text, value in (
            ("requests_in_flight", "Requests in progress", lambda: self.in_flight),
            ("queued_sentences", "Sentences that wait", lambda: self.scheduler.queued),
            ("model_bytes", "Bytes of the weights that are loaded", lambda: self.host.loaded_bytes),
        ):
            self.metrics.watch(name, text, value)
        self._warm = threading.Event()
        self.pool = ThreadPoolExecutor(
            settings.max_requests + _BESIDE, "cpunmt request"
        )  # else they wait for long requests
        self.arriving = Arriving()
        self.parser = ThreadPoolExecutor(1, "cpunmt parser")  # one at a time: it takes turns with the event loop
        self._kept: dict[type, Any] = {}
        self._keeping: asyncio.Task[None] | None = None

    @property
    def is_ready(self) -> bool:
        """Returns whether requests need not wait for the compiler or for preloaded models."""
        return self._warm.is_set() and not self.draining

    def kept(self, kind: type[T]) -> T:
        """Returns a dialect's storage for this server, of a class without arguments; only in the event loop."""
        if kind not in self._kept:
            self._kept[kind] = kind()
        found: T = self._kept[kind]
        return found

    def start(self) -> None:
        """Compiles if necessary, and preloads models, outside the event loop."""
        loop = asyncio.get_running_loop()
        loop.run_in_executor(self.pool, self._warm_up)
        if self.settings.idle_unload:
            self._keeping = loop.create_task(self._keep())

    async def close(self) -> None:
        """Ends the threads after their work."""
        self.draining = True
        if self._keeping is not None:
            self._keeping.cancel()
        await asyncio.get_running_loop().run_in_executor(None, self.scheduler.close)
        for pool in (self.pool, self.parser):
            pool.shutdown(wait=False, cancel_futures=True)

    def _warm_up(self) -> None:
        try:
            program.load()
            if self.settings.preload:
                if not self.host.preload(_log_failure):
                    self.failure = "no model could be loaded"
                    return
                if self.detector.is_installed():
                    self.detector.detect("one")
        except Exception as error:  # requests would meet it too
            self.failure = type(error).__name__
            LOG.error("cannot start: %s", type(error).__name__)
            return
        self._warm.set()

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(min(_LOOK, self.settings.idle_unload / 2))
            self.host.unload_idle(self.settings.idle_unload)

    async def run(self, request: Request, work: Callable[[Task], T]) -> T:
        """Returns the result of `work`, run in a thread. Raises CancelledError if the client leaves."""
        task = self.scheduler.task()
        return await _watched(request, task, asyncio.get_running_loop().run_in_executor(self.pool, work, task))

    async def translated(
        self, request: Request, texts: Sequence[str], source: str, target: str, options: Mapping[str, Any]
    ) -> list[tuple[Wanted, Result]]:
        """Returns the languages (see `wanted`) and the result (see `translate`) of each text.

        Waking a thread, twice, takes a fifth of a short sentence's time: short texts are translated without one.
        """
        if source.lower() != AUTO and sum(map(len, texts)) <= _LITTLE and not any(map(options.get, _SLOW)):
            wanted = self.wanted(texts, source, target)
            pair = wanted[0][:2] if wanted else ("", "")
            hosted = self.host.loaded(*pair) if wanted else None
            if hosted is not None:
                return list(zip(wanted, await self._at_once(request, texts, hosted, pair, options), strict=True))

        def work(task: Task) -> list[tuple[Wanted, Result]]:
            wanted = self.wanted(texts, source, target)
            return list(zip(wanted, self.translate(task, texts, wanted, options), strict=True))

        return await self.run(request, work)

    async def _at_once(
        self,
        request: Request,
        texts: Sequence[str],
        hosted: Hosted,
        pair: tuple[str, str],
        options: Mapping[str, Any],
    ) -> list[Result]:
        """Returns the results of texts; the event loop itself splits and joins their sentences."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()

        def end() -> None:
            if not done.done():
                done.set_result(None)

        def tell() -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(end)

        call, key, sentences = _settled(hosted, pair, options)
        task, steps = self.scheduler.task(tell), text_steps(texts, [[]] * len(texts), call)
        asked = self.scheduler.ask(task, (key, call.settings), sentences, *next(steps))
        if asked.waits:
            self.scheduler.call()
            await _watched(request, task, done)
        return after(steps, self.scheduler.answer(task, asked))

    def wanted(self, texts: Sequence[str], source: str, target: str) -> list[Wanted]:
        """Returns the languages of each text; results and errors are those of `detection.settled`."""
        return settled(self.host, self.detector, texts, source, target)

    def check(self, task: Task, wanted: Wanted, options: Mapping[str, Any]) -> None:
        """Raises ServeError unless the model can be loaded and accepts these options."""
        if wanted.source != wanted.target:
            self._call(task, wanted[:2], options)

    def translate(
        self,
        task: Task,
        texts: Sequence[str],
        wanted: Sequence[Wanted],
        options: Mapping[str, Any],
        tell: Callable[[str], None] | None = None,
    ) -> list[Result]:
        """Returns the results of texts, as `Translator.translate` does; runs in a thread of the request.

        `tell`: called with the increments of a single text's translation, as its sentences are done.

        Raises ServeError for a wrong option, and the errors of `Scheduler.through`.
        """
        results: dict[int, Result] = {}
        with under(Watch(cancel=lambda: task.cancelled)):
            for pair in dict.fromkeys(one[:2] for one in wanted):
                numbers = [number for number, one in enumerate(wanted) if one[:2] == pair]
                given, whole = [texts[number] for number in numbers], tell
                if pair[0] == pair[1]:
                    made = [_unchanged(text) for text in given]
                else:
                    call = self._call(task, pair, options)
                    if tell and (windowed := _telling(call, given[0], tell)):
                        call, whole = windowed, None
                    made = translate_texts(given, [[]] * len(given), call)
                if whole:
                    whole(made[0].text)
                results |= zip(numbers, made, strict=True)
        return [results[number] for number in range(len(texts))]

    def document_translator(self, task: Task, wanted: Wanted) -> DocumentMethod:
        """Returns a translator of documents between two different languages."""
        return _DocumentTranslator(lambda options: self._call(task, wanted[:2], options))

    def _call(self, task: Task, pair: tuple[str, str], options: Mapping[str, Any]) -> TextCall:
        call, key, sentences = _settled(self._hosted(pair), pair, options)
        return call._replace(sentences=self.scheduler.through(task, key, sentences))

    def _hosted(self, pair: tuple[str, str]) -> Hosted:
        try:
            hosted = self.host.between(*pair)
        except (CpunmtError, OSError, MemoryError) as error:
            _log_failure(pair, error)
            raise ServeError(503, "The model cannot be loaded", retry_after=60) from None
        if hosted is None:
            raise bad(f"{pair[1]} is not available as a target language from {pair[0]}")
        return hosted


def _log_failure(pair: tuple[str, str], error: Exception) -> None:
    LOG.error("cannot load the model from %s to %s: %s", *pair, type(error).__name__)


class _DocumentTranslator(DocumentMethod):
    """Translates documents through the queue of the server."""

    target_language = None  # only names of files depend on it

    def __init__(self, call: Callable[[Mapping[str, Any]], TextCall]):
        self._call = call

    def text_call(self, given: Mapping[str, Any]) -> TextCall:
        return self._call(given)


def _settled(
    hosted: Hosted, pair: tuple[str, str], options: Mapping[str, Any]
) -> tuple[TextCall, Hashable, OfDirections]:
    """Returns a configured call, its hashable name apart from languages, and a callable for sentences of any language.

    Raises ServeError for a wrong option, and if a model of several languages does not know these.
    """
    key = hosted.number, tuple(sorted(options.items()))
    if hosted.has_several:
        named = dict(zip(SPOKEN, pair, strict=True))
        try:
            hosted.translator.text_call(named)
        except ValueError:
            pairs = " to ".join(map(said, pair))
            raise ServeError(503, f"The model does not name {pairs}, as its metadata says that it does") from None
        options = {**options, **named}
    try:
        call = hosted.translator.text_call(options)
    except (TypeError, ValueError) as error:
        raise bad(f"Invalid request: {error}") from None
    if isinstance(hosted.translator, Translator) and hosted.has_several:
        return call, key, hosted.translator.translate_each
    return call, key, lambda texts, forced, each: call.sentences(texts, forced, each[0])  # all are alike


def _telling(call: TextCall, text: str, tell: Callable[[str], None]) -> TextCall | None:
    """Returns the call for one text, with a callback for increments; None for markup and texts without sentences.

    The first batch is one sentence, so that it comes soon; later batches grow.
    """
    cutter, options = call.cutter, call.settings.options
    if cutter is None or options.html or options.xml or not (cut := cutter.cut(text)).spans:
        return None

    def sentences(parts: Sequence[str], forced: Sequence[list[int]], settings: Settings) -> list[Aligned]:
        made: list[Aligned] = []

        def targets() -> Iterator[str]:
            for window in windows(parts, 1, _MOST_AT_ONCE):
                found = call.sentences(window, [[]] * len(window), settings)
                made.extend(found)
                yield from (aligned.target for aligned in found)

        each = targets()
        for increment in joined_increments(cut, cutter.unspaced(text), lambda *_: iter([next(each)])):
            if increment:
                tell(increment)
        return made

    return call._replace(sentences=sentences)


def _unchanged(text: str) -> Result:
    return Result((Hypothesis(text, 0.0, 0.0, False, ()),), num_source_characters=len(text))


async def _watched(request: Request, task: Task, made: Awaitable[T]) -> T:
    """Returns the result of `made`. Cancels the task if its client has left or the result is not awaited any more."""
    loop, watching = asyncio.get_running_loop(), []
    later = loop.call_later(_SOON, lambda: watching.append(loop.create_task(_watch(request, task))))
    try:
        return await made
    except asyncio.CancelledError:
        task.cancel()
        raise
    finally:
        later.cancel()
        for watch in watching:
            watch.cancel()


async def _watch(request: Request, task: Task) -> None:
    """Cancels a task when its client has left; ignores other messages of the client."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    task.cancel()
