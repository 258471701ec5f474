"""A run: cuts inputs into shards, and has workers make the missing parts."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from cpunmt.corpora import sidecar
from cpunmt.corpora.inputs.formats import KINDS, Corpus, corpora_of
from cpunmt.corpora.job import Job
from cpunmt.corpora.pool import Task
from cpunmt.corpora.shard import Part, refuse_contradictions
from cpunmt.errors import CpunmtError
from cpunmt.files.output_files import remove_abandoned

Advance = Callable[[int, int], object]  # called with numbers of further rows and words


@dataclass
class Totals:
    """The counts of a run; of existing parts only their number and their rows."""

    parts: int = 0
    rows: int = 0
    words: int = 0
    distinct: int = 0
    flagged: int = 0
    parts_there: int = 0
    rows_there: int = 0


class AnyPool(Protocol):
    """A maker of parts, see `Pool`."""

    @property
    def identity(self) -> dict[str, Any]: ...

    def run(self, tasks: Iterator[Task], /) -> Iterator[tuple[Task, str, Any]]: ...


def checked_corpora(inputs: Sequence[str], folder: str, job: Job) -> list[Corpus]:
    """Returns the inputs of a job. Raises as `corpora_of` and `refuse_contradictions`."""
    corpora = corpora_of(inputs, folder, job.target is not None)
    for corpus in corpora:
        refuse_contradictions(job, corpus.kind)
    return corpora


class Batch:
    """Inputs, and the folder of their parts."""

    def __init__(self, corpora: Sequence[Corpus], folder: str, shard_rows: int, share: tuple[int, int] = (0, 1)):
        """`share`: (I, N): only shards whose number, counted over all inputs, is I modulo N.

        Raises CpunmtError if the folder cannot be made.
        """
        self._corpora, self._folder, self._rows, self._share = corpora, folder, shard_rows, share
        self.totals = Totals()
        try:
            os.makedirs(folder, exist_ok=True)
        except OSError as error:
            raise CpunmtError(f"{folder}: cannot be made: {error.strerror}") from None
        if not os.access(folder, os.W_OK | os.X_OK):
            raise CpunmtError(f"{folder}: cannot be written in; check its permissions, or choose another (out=DIR)")

    def count(self) -> int:
        """Counts the rows of all inputs; for a share, estimates them."""
        return sum(KINDS[corpus.kind].count(corpus.path) for corpus in self._corpora) // self._share[1]

    def run(self, pool: AnyPool, advance: Advance = lambda rows, words: None) -> None:
        """Makes the missing parts.

        Raises CpunmtError as `Pool.run`, and for an input that cannot be read.
        """
        self._tidy()
        told: dict[str, tuple[int, int]] = {}  # rows and words of unfinished parts
        try:
            for task, kind, value in pool.run(self._tasks(pool.identity, advance)):
                path = task.part.path
                if kind == "progress":
                    now = int(value[0] * task.rows), int(value[0] * value[1])
                else:
                    now = value["rows"], value["words"]
                    self._add(value)
                before = told.get(path, (0, 0))
                advance(now[0] - before[0], now[1] - before[1])
                told[path] = now
                if kind == "done":
                    del told[path]
        finally:
            self._tidy()

    def _add(self, done: dict[str, Any]) -> None:
        totals = self.totals
        totals.parts += 1
        for name in ("rows", "words", "distinct", "flagged"):
            setattr(totals, name, getattr(totals, name) + done[name])

    def _tasks(self, wanted: dict[str, Any], advance: Advance) -> Iterator[Task]:
        index, (mine, of) = 0, self._share
        for corpus in self._corpora:
            number = 0
            for shard in KINDS[corpus.kind].shards(corpus.path, self._rows):
                if index % of == mine:
                    source = sidecar.digest(shard.payload)
                    path = os.path.join(self._folder, corpus.part(number))
                    if os.path.islink(path):
                        raise CpunmtError(f"{path}: is a link, and what it leads to would be replaced; remove it")
                    if (found := sidecar.fitting(path, wanted, source)) is None:
                        part = Part(path, corpus.kind, corpus.path, shard.first, source)
                        yield Task(part, shard.payload, shard.rows)
                    else:
                        self.totals.parts_there += 1
                        self.totals.rows_there += found["rows"]
                        advance(found["rows"], 0)
                index, number = index + 1, number + 1
            self._remove_from(corpus, number)

    def _remove_from(self, corpus: Corpus, number: int) -> None:
        """Removes parts of an earlier run that cut the input into more: they would follow the last one."""
        named = re.compile(rf"_{re.escape(corpus.stem)}\.(\d{{5}}){re.escape(corpus.ending)}\.json")
        for found in filter(None, map(named.fullmatch, os.listdir(self._folder))):
            path = os.path.join(self._folder, corpus.part(int(found[1])))
            if int(found[1]) >= number and sidecar.is_ours(path):
                for name in (path, sidecar.sidecar_of(path)):  # the sidecar last: it marks the other as ours
                    with contextlib.suppress(FileNotFoundError):  # another job removes it too
                        os.unlink(name)

    def _tidy(self) -> None:
        """Removes unfinished files of killed writers."""
        stems = [corpus.stem for corpus in self._corpora]
        remove_abandoned(self._folder, [*stems, *(f"_{stem}" for stem in stems)])
