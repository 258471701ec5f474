"""One call of a Translator: its sentences shared among the workers, its results in order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from cpunmt.engine.search import Search
from cpunmt.errors import CancelledError
from cpunmt.options.options import Options
from cpunmt.process.first_use import LOCK
from cpunmt.process.stopping import SharedWork, Watch, check, is_watched
from cpunmt.process.workers import Workers
from cpunmt.values import checks

if TYPE_CHECKING:
    from concurrent.futures import Future

    from cpunmt.model.config import ModelConfig

R = TypeVar("R")
MOST_SECONDS = 1e8  # three years
LETTERS = 4  # of a piece, about
PARTS = 4  # a worker takes a fourth of its part of what is left, so that all are done at nearly the same time,
LEAST = 512  # but as many pieces as this: the last sentences of a batch are decoded with few beside them,
MOST = 8192  # and not more than this: if one raises, or a thread is interrupted, the batches that run are finished


class Settings(NamedTuple):
    """The options of a call, none of which is left open for others to decide, and what they are to the engine."""

    options: Options
    search: Search


def settings_of(options: Options, **changes: Any) -> Settings:
    """Settings of options, with some changed."""
    whole = options.split == "none"  # then a text is the model's alone, as other engines have it
    if options.protect is None:
        changes = {"protect": "none" if whole else "all", **changes}
    if options.copy_numbers is None:
        changes = {"copy_numbers": not whole, **changes}
    if options.lower_capitals is None:
        changes = {"lower_capitals": not whole, **changes}
    options = replace(options, **changes) if changes else options
    sequences: Any = options.suppress_sequences
    ends: Any = options.end_token
    alike = {name: getattr(options, name) for name in Search._fields if hasattr(options, name)}
    alike["patience"] = options.patience or 0.0
    alike["num_hypotheses"] = options.candidates
    if options.apart:
        alike |= {"beam_size": options.candidates, "patience": 0.0}
    search = Search(
        **alike,
        suppressed=() if sequences is None else sequences.ids,
        end_pieces=() if ends is None else ends.ids,
        full=options.vocabulary in ("full", "clusters"),
        clusters=options.vocabulary in ("clusters", "both"),
        token_log_probs=options.return_token_log_probs,
        attention=options.return_alignments or options.replace_unknowns,
    )
    return Settings(options, search)


def is_simple(settings: Settings, config: ModelConfig) -> bool:
    """Whether a sentence may be translated by itself, with nothing told but its translation and scores."""
    options = settings.options
    if options.html or options.xml or options.rerank is not None or config.right_to_left:
        return False
    return not (settings.search.attention or options.max_input_length)


def aligning(settings: Settings, align: bool) -> Settings:
    """The same, where alignments are wanted or not."""
    options = settings.options
    return settings if options.return_alignments == align else settings_of(options, return_alignments=align)


class Call(Generic[R]):
    """What is to be done. `results` or `asynchronous` does it."""

    def __init__(
        self,
        workers: Workers,
        sizes: list[int],
        translate: Callable[[Sequence[int], SharedWork | None], list[R]],
        apart: bool = False,
    ):
        """`translate` makes the results of the sentences of these numbers; of those that nobody wants any more, any.

        Parameters
        ----------
        sizes : about how many pieces each sentence has
        apart : not in this thread, even if there is one worker: it can be interrupted, while compiled code cannot
        """
        self._workers, self._sizes, self._translate, self._apart = workers, sizes, translate, apart

    def results(self) -> list[R]:
        """Of all sentences. One worker is the calling thread, which does all at once, unless something may end it."""
        count, size = len(self._sizes), sum(self._sizes)
        at_once = LEAST if self._workers.count > 1 else MOST if is_watched() else size
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
        """For each sentence an AsyncResult; the workers begin at once. What `watch` ends raises for each undone one."""
        results: list[Any] = [None] * len(self._sizes)
        for share in shares(self._sizes, self._workers.count):
            shared = SharedWork(len(share), watch)
            future = self._workers.submit(self._translate, share, shared)
            for place, number in enumerate(share):
                results[number] = AsyncResult(future, place, shared)
        return results


class AsyncResult(Generic[R]):
    """The result of one sentence, which may still be in the making.

    It belongs to the process that asked for it: in a fork of that one its methods raise RuntimeError.
    """

    def __init__(self, future: Future[list[R]], place: int, shared: SharedWork):
        """`future` gives a list, whose item `place` is the result; `shared`: which items are wanted."""
        self._future, self._place, self._shared, self._process = future, place, shared, os.getpid()
        self._cancelled = False

    def done(self) -> bool:
        """Whether `result` would not wait."""
        return self._own().done() or self._cancelled

    def result(self, timeout: float | None = None) -> R:
        """Wait for the result and return it, or raise what went wrong.

        Raises TimeoutError if it is not there after `timeout` seconds: the work goes on, see `cancel`; None: it waits.
        CancelledError after `cancel`, TimeLimitError if the call's `time_limit` was over before.
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
        """Nobody wants the result any more; False if it is there already. Other sentences of the call are not touched.

        A worker that is translating the sentence leaves it within a fifth of a second.
        """
        if not self._cancelled and self._own().done():
            return False
        self._cancelled = True
        self._shared.drop(self._place)
        if self._shared.is_unwanted:
            self._future.cancel()  # if no worker has begun
        return True

    def cancelled(self) -> bool:
        """Whether `cancel` was called before the result was there."""
        return self._cancelled

    def _is_done_in(self, seconds: float) -> bool:
        with LOCK:
            from concurrent.futures import wait
        return bool(wait([self._future], seconds).done)

    def _own(self) -> Future[list[R]]:
        """Not in a fork: no thread would ever end it there, and a lock of it may have been held."""
        if self._process != os.getpid():
            raise RuntimeError(
                f"this result is made in process {self._process}, and cannot be waited for in a fork of it; call "
                "result() before the fork and keep what it gives, or translate in the new process"
            )
        return self._future


def shares(sizes: list[int], workers: int) -> Iterator[list[int]]:
    """Numbers of the sentences that are translated together, the longest first; the shares become smaller."""
    left, share, size = sum(sizes), [], 0
    for number in sorted(range(len(sizes)), key=lambda number: -sizes[number]):
        share.append(number)
        size += sizes[number]
        if size >= min(MOST, max(LEAST, left / (workers * PARTS))):
            yield share
            left, share, size = left - size, [], 0
    if share:
        yield share


def watch_of(given: dict[str, Any]) -> Watch | None:
    """What `time_limit` and `cancel` among the keywords of a call say, from now on; they are taken out.

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
