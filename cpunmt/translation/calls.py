"""One call of a Translator: its sentences shared among the workers, its results in order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from cpunmt.engine.search import Search
from cpunmt.process.workers import Workers
from cpunmt.translation.options import Options

if TYPE_CHECKING:
    from concurrent.futures import Future

R = TypeVar("R")
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
    if options.apart:
        alike |= {"beam_size": options.num_hypotheses, "patience": 0.0}
    search = Search(
        **alike,
        suppressed=() if sequences is None else sequences.ids,
        end_pieces=() if ends is None else ends.ids,
        full=options.vocabulary == "full",
        token_log_probs=options.return_token_log_probs,
        attention=options.return_alignments or options.replace_unknowns,
    )
    return Settings(options, search)


def aligning(settings: Settings, align: bool) -> Settings:
    """The same, where alignments are wanted or not."""
    options = settings.options
    return settings if options.return_alignments == align else settings_of(options, return_alignments=align)


class Call(Generic[R]):
    """What is to be done. `results` or `asynchronous` does it."""

    def __init__(
        self, workers: Workers, sizes: list[int], translate: Callable[[Sequence[int]], list[R]], apart: bool = False
    ):
        """`translate` makes the results of the sentences of these numbers.

        Parameters
        ----------
        sizes : about how many pieces each sentence has
        apart : not in this thread, even if there is one worker: it can be interrupted, while compiled code cannot
        """
        self._workers, self._sizes, self._translate, self._apart = workers, sizes, translate, apart

    def results(self) -> list[R]:
        """Of all sentences. One worker is the calling thread, which does all at once."""
        count = len(self._sizes)
        if not self._apart and (self._workers.count == 1 or sum(self._sizes) <= LEAST):
            return self._translate(range(count))
        results: list[Any] = [None] * count
        divided = list(shares(self._sizes, self._workers.count))
        for share, made in zip(divided, self._workers.map(self._translate, divided, self._apart), strict=True):
            for number, result in zip(share, made, strict=True):
                results[number] = result
        return results

    def asynchronous(self) -> list[AsyncResult[R]]:
        """For each sentence an AsyncResult; the workers begin at once."""
        results: list[Any] = [None] * len(self._sizes)
        for share in shares(self._sizes, self._workers.count):
            future = self._workers.submit(self._translate, share)
            for place, number in enumerate(share):
                results[number] = AsyncResult(future, place)
        return results


class AsyncResult(Generic[R]):
    """The result of one sentence, which may still be in the making.

    It belongs to the process that asked for it: in a fork of that one its methods raise RuntimeError.
    """

    def __init__(self, future: Future[list[R]], place: int):
        """`future` gives a list, whose item `place` is the result."""
        self._future, self._place, self._process = future, place, os.getpid()

    def done(self) -> bool:
        """Whether `result` would not wait."""
        return self._own().done()

    def result(self) -> R:
        """Wait for the result and return it, or raise what went wrong."""
        return self._own().result()[self._place]

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
