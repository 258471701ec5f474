"""`TableTranslator`: adds a column of translations to Arrow tables."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from cpunmt.corpora.inputs.parquet_rows import read_table, text_type, with_columns
from cpunmt.corpora.job import Job
from cpunmt.corpora.shard import refuse_contradictions
from cpunmt.corpora.translating import Translating
from cpunmt.errors import CpunmtError
from cpunmt.options.options import make_options
from cpunmt.process.first_use import LOCK
from cpunmt.translator.translator import Translator

if TYPE_CHECKING:
    import pyarrow as pa

    from cpunmt.options.options import TranslationOptions

    AnyTable = TypeVar("AnyTable", pa.Table, pa.RecordBatch)
else:
    AnyTable = TypeVar("AnyTable")

    TranslationOptions = Any

# The models loaded in this process; tables of one model share it.
_LOADED: dict[tuple[str, ...], Translator] = {}


class TableTranslator:
    """A function of pyarrow Tables or RecordBatches that returns them with a new column of translations.

    translate = TableTranslator("models/ende", column="source")
    translated = translate(table)

    Rows keep their order, all columns stay as they are, and nulls stay null. A row's translation depends on its text
    alone, so tables may be cut and distributed to processes in any way.

    It is made for frameworks that run a function in many processes (Ray, Spark, Dask: see docs/scale.md). It holds only
    its arguments, and can be sent to other processes. The first call loads the model, once in each process for all
    TableTranslators. A call has one thread: start as many processes as there are cores.
    """

    def __init__(
        self,
        model: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        *,
        column: str = "source",
        into: str = "translation",
        source_lang_column: str | None = None,
        target_lang_column: str | None = None,
        with_score: bool = False,
        **options: TranslationOptions,
    ) -> None:
        """Loads nothing yet. The path or name of the model must be valid on every machine that translates tables.

        Parameters
        ----------
        model : as `Translator` takes it: a directory, the name of a fetched model, or a list of them, an ensemble
        column : the column to translate, of strings or large strings, which may be nulls or dictionary-encoded
        into : the new column, of large strings if `column` is, else of strings
        source_lang_column, target_lang_column : columns with each text's languages, as of `translate_shard`
        with_score : adds a column `score`, float64: the score of each translation; see `Hypothesis`

        Options are those of `Translator.translate`.

        Raises TypeError or ValueError for a wrong name of a column or a wrong option.
        """
        self._job = Job(column, into, None, source_lang_column, target_lang_column, with_score)
        refuse_contradictions(self._job, "parquet")
        self._options: dict[str, Any] = {**options}
        make_options(self._options)  # a wrong option raises here, not on another machine
        models = [model] if isinstance(model, str | os.PathLike) else [*model]
        self._model = tuple(_whole_path(os.fspath(one)) for one in models)

    def __call__(self, table: AnyTable) -> AnyTable:
        """Returns the table, or batch, with new last columns: translations, and then scores.

        Raises CpunmtError for another type, a missing column of texts, or an existing column of the new name.
        """
        import pyarrow as pa

        if not isinstance(table, pa.Table | pa.RecordBatch):
            raise CpunmtError(
                f"TableTranslator is given {_kind(table)}, expected a pyarrow Table or RecordBatch: "
                'with Ray, map_batches(..., batch_format="pyarrow"); of pandas, pyarrow.Table.from_pandas'
            )
        rows = read_table(table, self._job, "the table")
        made = Translating(self._translator(), self._options, self._job).made(rows, lambda share: None)
        is_large = pa.types.is_large_string(text_type(table.column(self._job.column)))
        found: AnyTable = with_columns(rows, made, self._job, pa.large_string() if is_large else pa.string())
        return found

    def _translator(self) -> Translator:
        with LOCK:
            if (translator := _LOADED.get(self._model)) is None:
                translator = _LOADED[self._model] = Translator(self._model)
            return translator

    def __repr__(self) -> str:
        model = self._model[0] if len(self._model) == 1 else self._model
        return f"TableTranslator({model!r}, column={self._job.column!r}, into={self._job.into!r})"


def _whole_path(model: str) -> str:
    """Returns the absolute path of a directory, as workers have other current folders; a name stays as it is."""
    return os.path.abspath(model) if os.path.exists(model) else model


def _kind(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"
