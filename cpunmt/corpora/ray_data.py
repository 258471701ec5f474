"""`cpunmt batch` on a Ray cluster: the same parts and sidecars, made by tasks of Ray, one for each core."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cpunmt.corpora.batch import Batch, Totals, checked_corpora
from cpunmt.corpora.job import SHARD_ROWS, Filters, Job
from cpunmt.corpora.pool import ATTEMPTS, Task, next_task
from cpunmt.corpora.shard import Part
from cpunmt.corpora.worker import PartMaker, Work, attempt, attempt_part, work_of
from cpunmt.errors import CpunmtError
from cpunmt.registry.store import located
from cpunmt.values.checks import whole

if TYPE_CHECKING:
    from cpunmt.options.arguments import AnyPath
    from cpunmt.options.options import TranslationOptions
else:
    AnyPath = TranslationOptions = Any


def translate_corpora(
    inputs: AnyPath | Sequence[AnyPath],
    out: AnyPath,
    model: AnyPath | Iterable[AnyPath],
    *,
    column: str = "source",
    into: str = "translation",
    source_lang_column: str | None = None,
    target_lang_column: str | None = None,
    with_score: bool = False,
    filters: Mapping[str, Any] | None = None,
    drop: bool = False,
    cache: AnyPath | None = None,
    shard_rows: int = SHARD_ROWS,
    workers: int | None = None,
    **options: TranslationOptions,
) -> Totals:
    """Translates corpora on a Ray cluster, part by part, as `cpunmt batch` does.

    All machines see the same file system. `ray.init` may have been called before, to choose the cluster. Another call
    makes only the parts that are missing or out of date. Any process and any machine may be killed: a part exists
    completely or not at all, and a part made twice has the same bytes.

    Parameters
    ----------
    inputs : a file or several, see `cpunmt batch`
    out : the folder of the parts
    model : a model's path or name, or several for an ensemble
    column, into, source_lang_column, target_lang_column, with_score, filters, drop, cache, options : as of
        `translate_shard`
    shard_rows : rows of a part
    workers : number of parts made at once, each on a core; None: as many as the cluster has cores, as it grows

    Returns the totals. Raises CpunmtError for the errors of `cpunmt batch`, and if Ray is not installed; TypeError or
    ValueError for a wrong argument.
    """
    try:
        import ray
    except ImportError:
        raise CpunmtError("Ray is not installed, expected ray[data]: pip install 'cpunmt[ray]'") from None
    job = Job(column, into, None, source_lang_column, target_lang_column, with_score, Filters(**(filters or {})), drop)
    paths = [inputs] if isinstance(inputs, str | bytes | os.PathLike) else inputs
    folder = _absolute(out)
    corpora = checked_corpora(list(map(_absolute, paths)), folder, job)
    models = [model] if isinstance(model, str | bytes | os.PathLike) else model
    arguments = {"model_path": [_absolute(located(one)) for one in models]}
    work = work_of([arguments], {**options}, job, None if cache is None else _absolute(cache))
    rows = whole("shard_rows", shard_rows, 1, 1 << 40)
    if workers is not None:
        whole("workers", workers, 1, 1 << 20)
    batch = Batch(corpora, folder, rows)
    if not ray.is_initialized():
        ray.init()
    batch.run(RayPool(ray, work, workers))
    return batch.totals


def _absolute(path: AnyPath) -> str:
    return os.path.abspath(os.fsdecode(path))


class RayPool:
    """A maker of parts by tasks of Ray, instead of a `Pool` of processes."""

    def __init__(self, ray: Any, work: Work, workers: int | None):
        """Raises CpunmtError if models cannot be loaded, or options are wrong."""
        self._ray, self._work, self._workers = ray, ray.put(work), workers
        retries = {"num_cpus": 1, "max_retries": ATTEMPTS - 1}  # of a task whose process or machine is lost
        self._make = ray.remote(**retries)(cpunmt_part)
        kind, value = ray.get(ray.remote(**retries)(_ready).remote(self._work))
        if kind == "failed":
            raise CpunmtError(value)
        self.identity: dict[str, Any] = value

    def run(self, tasks: Iterator[Task]) -> Iterator[tuple[Task, str, Any]]:
        failed: list[str] = []
        running: dict[Any, Task] = {}
        following = next_task(tasks, failed)
        while running or (following and not failed):
            while following and not failed and len(running) < self._count():
                task = following
                running[self._make.remote(self._work, task.part, task.payload)] = task
                following = next_task(tasks, failed)
            (ready, *_), _ = self._ray.wait(list(running), num_returns=1)
            task = running.pop(ready)
            try:
                kind, value = self._ray.get(ready)
            except self._ray.exceptions.RayError as error:
                said = f"{ATTEMPTS} workers ended at them, the last one by {type(error).__name__}"
                kind, value = "failed", f"{task.part.place}: {said}; is there too little memory?"
            if kind == "failed":
                failed.append(value)
            else:
                yield task, kind, value
        if failed:
            raise CpunmtError(failed[0])

    def _count(self) -> int:
        return self._workers or max(1, int(self._ray.cluster_resources().get("CPU", 1)))


def cpunmt_part(work: Work, part: Part, payload: bytes) -> tuple[str, Any]:
    """Makes a part as a task of Ray, which names its processes after this function.

    Returns an error instead of raising it: Ray would convert the exception to one of its own.
    """
    kind, value = _maker(work)
    return attempt_part(value, part, payload, lambda share, words: None) if kind == "ready" else (kind, value)


def _ready(work: Work) -> tuple[str, Any]:
    """Returns the identity of parts, as a task of Ray."""
    kind, value = _maker(work)
    return (kind, value.identity) if kind == "ready" else (kind, value)


_LAST: list[Any] = []  # the work of this process's last task, and its prepared maker


def _maker(work: Work) -> tuple[str, Any]:
    """Returns ("ready", a PartMaker), which further tasks of the process share, or ("failed", a message)."""
    if not _LAST or _LAST[0] != work:
        _LAST[:] = work, attempt("ready", lambda: PartMaker(work), ValueError, TypeError, OSError)
    kind, value = _LAST[1]
    return kind, value
