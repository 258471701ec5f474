"""One call of a Translator: shares its sentences among the workers and returns its results in order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from cpunmt.errors import CancelledError
from cpunmt.options.options import OF_PIECES, SPOKEN, Options
from cpunmt.process.first_use import LOCK
from cpunmt.process.stopping import SharedWork, Watch, check, is_watched
from cpunmt.process.workers import Workers
from cpunmt.search.settings import Search
from cpunmt.values import checks

if TYPE_CHECKING:
    from concurrent.futures import Future

R = TypeVar("R")
MOST_SECONDS = 1e8  # three years
CHARS_PER_PIECE = 4  # on average
SHARE_DIVISOR = 4  # a worker takes a fourth of its share of the rest, so that all finish at nearly the same time,
MIN_SHARE_PIECES = 512  # but at least this many pieces: the last sentences of a batch are decoded with few beside them,
MAX_SHARE_PIECES = 8192  # and at most this many: after an error or an interrupt the batches that run are finished


class Settings(NamedTuple):
    """The resolved options of a call, and the engine's own options made from them.

    is_alone  whether a sentence, with the name of its language, may be translated separately, and only its translation
              and scores are returned
    first     the settings of the first tries, if sentences may be tried again
    """

    options: Options
    search: Search
    is_alone: bool = False
    first: Settings | None = None


def settings_of(options: Options, **changes: Any) -> Settings:
    """Resolves options, with some of them changed."""
    is_whole = options.split == "none"  # the text is one sentence, as in other engines
    by_itself = {"protect": "none" if is_whole else "all", "copy_numbers": not is_whole, "lower_capitals": not is_whole}
    changes = {name: value for name, value in by_itself.items() if getattr(options, name) is None} | changes
    if options.retry == "none":
        changes.setdefault("retry", None)
    options = options.changed(**changes) if changes else options
    sequences: Any = options.suppress_sequences
    ends: Any = options.end_token
    alike: dict[str, Any] = {name: getattr(options, name) for name in _ALIKE}
    alike["patience"] = options.patience or 0.0
    alike["num_hypotheses"] = options.candidates
    if options.apart:
        alike |= {"beam_size": options.candidates, "patience": 0.0}
    tags = [tag for tag in (options.source_lang, options.target_lang) if tag is not None]
    if tags:
        alike |= {name: tuple(id_ for tag in tags for id_ in getattr(tag, name, ())) for name in _NAMING}
    search = Search(
        **alike,
        suppressed=() if sequences is None else sequences.ids,
        end_pieces=() if ends is None else ends.ids,
        full=options.vocabulary in ("full", "clusters"),
        clusters=options.vocabulary in ("clusters", "both"),
        token_log_probs=options.return_token_log_probs,
        attention=options.return_alignments or options.replace_unknowns,
    )
    more = options.html or options.xml or options.rerank is not None or search.attention or options.max_input_length
    first = settings_of(options, retry=None) if options.retry else None
    return Settings(options, search, not (more or options.retry), first)


_NAMING = ("source_begin", "source_finish", "prompt")  # see options.languages.LanguageTag
_ALIKE = [name for name in Search._fields if name in OF_PIECES]  # options with the same name in the engine


def without_languages(settings: Settings) -> Settings:
    """Returns the settings of any direction; the same object if no language is named."""
    unnamed = dict.fromkeys(SPOKEN)
    return (
        settings
        if all(getattr(settings.options, name) is None for name in SPOKEN)
        else settings_of(settings.options, **unnamed)
    )


def aligning(settings: Settings, align: bool) -> Settings:
    """Returns the settings with alignments switched on or off."""
    options = settings.options
    return settings if options.return_alignments == align else settings_of(options, return_alignments=align)


class Call(Generic[R]):
    """The work of a call; run it by `results` or `asynchronous`."""

    def __init__(
        self,
        workers: Workers,
        sizes: list[int],
        translate: Callable[[Sequence[int], SharedWork | None], list[R]],
        apart: bool = False,
    ):
        """Takes `translate`, which returns the results of sentences by index, and anything for cancelled ones.

        Parameters
        ----------
        sizes : approximate number of pieces of each sentence
        apart : use another thread even with one worker, because compiled code cannot be interrupted
        """
        self._workers, self._sizes, self._translate, self._apart = workers, sizes, translate, apart

    def results(self) -> list[R]:
        """Returns the results of all sentences. With one worker and no watch, this thread does all at once."""
        count, size = len(self._sizes), sum(self._sizes)
        at_once = MIN_SHARE_PIECES if self._workers.count > 1 else MAX_SHARE_PIECES if is_watched() else size
        if not self._apart and size <= at_once:
            return self._translate(range(count), None)
        results: list[Any] = [None] * count
        divided = list(shares(self._sizes, self._workers.count))
        made = self._workers.map(self._watched, divided, self._apart)
        for share, of_share in zip(divided, made, strict=True):
            for number, result in zip(share, of_share, strict=True):
                results[number] = result
        return results

    def _watched(self, share: list[int]) -> list[R]:
        check()
        return self._translate(share, None)

    def asynchronous(self, watch: Watch | None) -> list[AsyncResult[R]]:
        """Returns an AsyncResult for each sentence; the workers begin at once. `watch` makes each unfinished one
        raise."""
        results: list[Any] = [None] * len(self._sizes)
        for share in shares(self._sizes, self._workers.count):
            shared = SharedWork(len(share), watch)
            future = self._workers.submit(self._translate, share, shared)
            for place, number in enumerate(share):
                results[number] = AsyncResult(future, place, shared)
        return results


class AsyncResult(Generic[R]):
    """The result of one sentence, which may still be pending.

    It belongs to the process that made it: in a fork its methods raise RuntimeError.
    """

    def __init__(self, future: Future[list[R]], place: int, shared: SharedWork):
        """Takes a `future` list, whose item `place` is the result; `shared` knows which items are wanted."""
        self._future, self._place, self._shared, self._process = future, place, shared, os.getpid()
        self._cancelled = False

    def done(self) -> bool:
        """Returns whether `result` would return at once."""
        return self._own().done() or self._cancelled

    def result(self, timeout: float | None = None) -> R:
        """Waits for the result and returns it, or raises its error.

        Raises TimeoutError if the result is still pending after `timeout` seconds (None: no limit); the work goes on,
        see `cancel`. Raises CancelledError after `cancel`, and TimeLimitError if the call's `time_limit` ended first.
        """
        if timeout is not None:
            timeout = checks.number("timeout", timeout, 0, MOST_SECONDS)
            if not self.done() and not self._is_done_in(timeout):
                raise TimeoutError(
                    f"the result is not there after {timeout:g} s, and still in the making; call result() again, or "
                    "cancel()"
                )
        future, made = self._own(), []
        try:
            made = [] if self._cancelled else future.result()
        except Exception:
            if not self._cancelled:  # by another thread, while this one waited
                raise
        if self._cancelled:
            raise CancelledError("the result was cancelled, and there is none")
        if self._place in self._shared.missing and self._shared.error is not None:
            raise self._shared.error
        return made[self._place]

    def cancel(self) -> bool:
        """Cancels the result; returns False if it is finished. Does not affect other sentences of the call.

        A worker that is translating the sentence stops within a fifth of a second.
        """
        if not self._cancelled and self._own().done():
            return False
        self._cancelled = True
        self._shared.drop(self._place)
        if self._shared.is_unwanted:
            self._future.cancel()  # if no worker has begun
        return True

    def cancelled(self) -> bool:
        """Returns whether `cancel` was called before the result was finished."""
        return self._cancelled

    def _is_done_in(self, seconds: float) -> bool:
        with LOCK:
            from concurrent.futures import wait
        return bool(wait([self._future], seconds).done)

    def _own(self) -> Future[list[R]]:
        """Raises in a fork: no thread would complete the result there, and its locks may have been held."""
        if self._process != os.getpid():
            raise RuntimeError(
                f"this result is made in process {self._process}, and cannot be waited for in a fork of it; call "
                "result() before the fork and keep what it gives, or translate in the new process"
            )
        return self._future


def shares(sizes: list[int], workers: int) -> Iterator[list[int]]:
    """Returns the numbers of the sentences to translate together, the longest first, in shares of decreasing size."""
    left, share, size = sum(sizes), [], 0
    for number in sorted(range(len(sizes)), key=lambda number: -sizes[number]):
        share.append(number)
        size += sizes[number]
        if size >= min(MAX_SHARE_PIECES, max(MIN_SHARE_PIECES, left / (workers * SHARE_DIVISOR))):
            yield share
            left, share, size = left - size, [], 0
    if share:
        yield share


def watch_of(given: dict[str, Any]) -> Watch | None:
    """Removes `time_limit` and `cancel` from a call's keywords, and starts a watch for them.

    Raises TypeError or ValueError for a wrong one.
    """
    time_limit, cancel = given.pop("time_limit", None), given.pop("cancel", None)
    if time_limit is None and cancel is None:
        return None
    if time_limit is not None:
        time_limit = checks.number("time_limit", time_limit, 0, MOST_SECONDS)
    if cancel is not None:
        cancel = getattr(cancel, "is_set", cancel)
        if not callable(cancel):
            raise TypeError(
                f"cancel is {checks.shown(cancel)}; expected a threading.Event, or a function that says whether to stop"
            )
    return Watch(time_limit, cancel)
