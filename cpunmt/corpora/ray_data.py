"""Parquet translated by a Ray cluster: `translate_parquet`. One actor per core, parts that are written exactly once."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from cpunmt.corpora.parquet_parts import (
    SUCCESS,
    Part,
    begin,
    finish,
    planned,
    read_part,
    waiting,
    write_part,
)
from cpunmt.corpora.table_translator import TableTranslator
from cpunmt.errors import CpunmtError
from cpunmt.values.checks import whole

if TYPE_CHECKING:
    from cpunmt.options.options import TranslationOptions
else:
    TranslationOptions = Any

ROWS = 20_000  # a part: a minute or two of news on one core


class Translated(NamedTuple):
    """What `translate_parquet` has done.

    rows   how many are in the folder now
    parts  in so many files
    made   so many of them by this call; the others were there
    """

    rows: int
    parts: int
    made: int


def translate_parquet(
    source: str | os.PathLike[str],
    destination: str | os.PathLike[str],
    model: str | os.PathLike[str],
    *,
    column: str = "source",
    to: str = "translation",
    score: str | None = None,
    rows: int = ROWS,
    actors: int | tuple[int, int] | None = None,
    **options: TranslationOptions,
) -> Translated:
    """Translate a column of a Parquet file, or of a folder of them, into a folder of Parquet, on a Ray cluster.

    All columns are kept, the new one stands behind them, and rows stay in their order: part after part, by name. Paths
    are those of a file system that all machines see. `ray.init` may have been called before, to choose the cluster.

    Called again with the same arguments, after whatever has happened, it makes the parts that are missing; when all are
    there, it writes `_SUCCESS`. An actor or a machine may be killed at any time: a part is there whole or not at all,
    and one that is made twice has the same bytes. A part must fit into memory, with the
    row groups of its file that hold it.

    Parameters
    ----------
    column, to, score, options : as of `TableTranslator`
    rows : of a part, at most; of about 5 to 10 minutes of one core when there are many
    actors : how many, of one core each; a pair is the fewest and the most of a pool that grows and shrinks as the
        cluster has room; None: as many as the cluster has cores

    Raises CpunmtError for files that cannot be read or written, a column that is not there, a folder of other files or
    of another model or other options, and if Ray is not installed; TypeError or ValueError for a wrong argument.
    """
    try:
        import ray
        import ray.data
    except ImportError:
        raise CpunmtError("Ray is not installed, expected ray[data]: pip install 'cpunmt[ray]'") from None
    source, destination = os.path.abspath(source), os.path.abspath(destination)
    given: dict[str, Any] = {**options}
    translator = TableTranslator(model, column=column, to=to, score=score, **given)
    parts = planned(source, whole("rows", rows, 1, 1 << 40))
    digest = translator.model_digest()
    job = {"model": digest, "column": column, "to": to, "score": score}
    begin(parts, destination, {**job, "options": {name: repr(value) for name, value in sorted(given.items())}})
    missing = waiting(parts, destination)
    if missing:
        if not ray.is_initialized():
            ray.init()
        items = [part.__dict__ for part in missing]
        # Each part a block, one at a time given to an actor: none waits behind another while a core is idle. Nothing
        # but actors has a core, so there is no reading or writing task that could wait for one for ever.
        dataset = ray.data.from_items(items, override_num_blocks=len(items)).map_batches(
            PartMaker,
            fn_constructor_args=(translator, digest, destination),
            batch_size=None,
            batch_format="pyarrow",
            num_cpus=1,
            compute=_pool(ray, actors),
        )
        for made in dataset.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0):
            for said in made.column("said").to_pylist():
                if said is not None:
                    raise CpunmtError(said)
    if missing or not os.path.exists(os.path.join(destination, SUCCESS)):
        finish(parts, destination)
    return Translated(sum(part.end - part.begin for part in parts), len(parts), len(missing))


def _pool(ray: Any, actors: int | tuple[int, int] | None) -> Any:
    """The compute strategy."""
    if isinstance(actors, tuple):
        least, most = actors
        sizes = {"min_size": whole("actors", least, 1, 1 << 20), "max_size": whole("actors", most, least, 1 << 20)}
    else:
        cores = int(ray.cluster_resources().get("CPU", 1)) if actors is None else actors
        sizes = {"size": whole("actors", cores, 1, 1 << 20)}
    return ray.data.ActorPoolStrategy(**sizes, max_tasks_in_flight_per_actor=1)


class PartMaker:
    """An actor, which makes parts. Called with a table of parts it returns one of what it has made."""

    def __init__(self, translator: TableTranslator, digest: str, folder: str) -> None:
        """`digest` is that of the model where the run was begun: on this machine it must be the same."""
        self._translator, self._digest, self._folder = translator, digest, folder
        self._is_same = False

    def __call__(self, parts: Any) -> Any:
        """A row for each part: its number, and what is wrong, or null.

        An error is told, not raised: of an exception Ray makes one of its own kind, which loses what it was made from.
        """
        import pyarrow as pa

        made = []
        for fields in parts.to_pylist():
            said = None
            try:
                self._make(Part(**fields))
            except CpunmtError as error:
                said = str(error)
            made.append({"number": fields["number"], "said": said})
        return pa.Table.from_pylist(made, pa.schema([("number", pa.int64()), ("said", pa.string())]))

    def _make(self, part: Part) -> None:
        if not self._is_same and self._translator.model_digest() != self._digest:
            raise CpunmtError(f"{self._translator!r}: the model has other files on a machine than where the run began")
        self._is_same = True
        if not os.path.exists(os.path.join(self._folder, part.name)):  # it is, of one who was killed right after it
            write_part(part, self._translator(read_part(part)), self._folder)
