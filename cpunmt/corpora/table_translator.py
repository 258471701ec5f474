"""Arrow tables in, the same tables with a column of translations out: `TableTranslator`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from cpunmt.corpora.inputs.arrow_texts import text_type, texts_of
from cpunmt.corpora.model_digest import model_digest
from cpunmt.errors import CpunmtError
from cpunmt.options.options import make_options
from cpunmt.process.first_use import LOCK
from cpunmt.registry.store import located
from cpunmt.translator.translator import Translator
from cpunmt.values.spelling import did_you_mean

if TYPE_CHECKING:
    import pyarrow as pa

    from cpunmt.options.options import TranslationOptions

    AnyTable = TypeVar("AnyTable", pa.Table, pa.RecordBatch)
else:
    AnyTable = TypeVar("AnyTable")

    TranslationOptions = Any

WINDOW = 2048  # texts that are translated together; their results are dropped but for the texts and scores

# What loads a model in this process: model -> Translator. Tables of one model share it.
_LOADED: dict[tuple[str, ...], Translator] = {}


class TableTranslator:
    """Translates a column of tables: called with a pyarrow Table or RecordBatch, it returns the same with a new column.

    translate = TableTranslator("models/ende-tiny", column="source")
    translated = translate(table)

    Rows stay in their order, and all columns stay as they are, so that ids go along. A null stays null. What a row's
    translation is depends on its text alone, so tables may be cut and sent to processes as one likes.

    It is made for what runs a function in many processes (Ray, Spark, Dask: see docs/scale.md): it holds only its
    arguments, and can be sent to other processes. The model is loaded by the first call, once in each process whatever
    the number of TableTranslators, and a call has one thread: start as many processes as there are cores.
    """

    def __init__(
        self,
        model: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        *,
        column: str = "source",
        to: str = "translation",
        score: str | None = None,
        **options: TranslationOptions,
    ) -> None:
        """Nothing is loaded yet; the model must be found, by the same path or name, where tables are translated.

        Parameters
        ----------
        model : as `Translator` takes it: a directory, the name of a fetched model, or a list of them, an ensemble
        column : what is translated: a column of strings, which may be nulls, dictionary-encoded, or of large strings
        to : the new column, of large strings if `column` is, else of strings
        score : None, or the name of another new column, float64: the score of each translation; see `Hypothesis`

        Options are those of `Translator.translate`.

        Raises TypeError or ValueError for a wrong name of a column or a wrong option.
        """
        names = {"column": column, "to": to} | ({} if score is None else {"score": score})
        for what, name in names.items():
            if not isinstance(name, str):
                raise TypeError(f"{what} is {name!r}, expected the name of a column")
        if len({*names.values()}) < len(names):
            told = " and ".join(f"{what}={name!r}" for what, name in names.items())
            raise ValueError(f"{told}: expected different names, for what is written is a new column")
        chosen: dict[str, Any] = {**options}
        make_options(chosen)  # a wrong one is told here, not on another machine
        models = [model] if isinstance(model, str | os.PathLike) else [*model]
        self._model = tuple(_whole_path(os.fspath(one)) for one in models)
        self._column, self._to, self._score, self._options = column, to, score, chosen

    def __call__(self, table: AnyTable) -> AnyTable:
        """The table, or batch, with the column of translations behind its others, and that of scores behind it.

        Raises CpunmtError for another type, and where there is no such column of texts, or one with the new name.
        """
        import pyarrow as pa

        if not isinstance(table, pa.Table | pa.RecordBatch):
            raise CpunmtError(
                f"TableTranslator is given {_kind(table)}, expected a pyarrow Table or RecordBatch: "
                'with Ray, map_batches(..., batch_format="pyarrow"); of pandas, pyarrow.Table.from_pandas'
            )
        for name in filter(None, (self._to, self._score)):
            if name in table.schema.names:
                raise CpunmtError(f"the table has a column {name!r} already, expected none: choose another name")
        texts, is_large = self._texts(table)
        found = self._found(texts)
        kind = pa.large_string() if is_large else pa.string()
        columns: dict[str, tuple[list[Any], Any]] = {
            self._to: ([None if text is None else found[text][0] for text in texts], kind)
        }
        if self._score is not None:
            columns[self._score] = ([None if text is None else found[text][1] for text in texts], pa.float64())
        for name, (values, of_type) in columns.items():
            table = table.append_column(pa.field(name, of_type), pa.array(values, of_type))
        return table

    def _texts(self, table: pa.Table | pa.RecordBatch) -> tuple[list[str | None], bool]:
        """The texts of the column, and whether its strings are large ones."""
        import pyarrow as pa

        place, names = f"column {self._column!r}", table.schema.names
        if names.count(self._column) != 1:
            if self._column in names:
                raise CpunmtError(f"the table has {names.count(self._column)} columns {self._column!r}, expected one")
            raise CpunmtError(f"the table has no {place}{did_you_mean(self._column, names)}, expected one of texts")
        values = table.column(self._column)
        return texts_of(values, f"{place} of the table"), pa.types.is_large_string(text_type(values))

    def _found(self, texts: list[str | None]) -> dict[str, tuple[str, float]]:
        """Text -> its translation and score; equal texts once."""
        waiting = [text for text in dict.fromkeys(texts) if text is not None]
        found = {}
        for begin in range(0, len(waiting), WINDOW):
            window = waiting[begin : begin + WINDOW]
            results = self._translator().translate(window, **self._options)
            found.update({text: (one.text, one.score) for text, one in zip(window, results, strict=True)})
        return found

    def _translator(self) -> Translator:
        with LOCK:
            if (translator := _LOADED.get(self._model)) is None:
                translator = _LOADED[self._model] = Translator(self._model)
            return translator

    def model_digest(self) -> str:
        """Of the model's files as they are on this machine: see `model_digest`. Raises ModelFileError."""
        return model_digest([located(model) for model in self._model])

    def __repr__(self) -> str:
        model = self._model[0] if len(self._model) == 1 else self._model
        return f"TableTranslator({model!r}, column={self._column!r}, to={self._to!r})"


def _whole_path(model: str) -> str:
    """The path from the root of a directory that is here, for workers have other current folders; else the name."""
    return os.path.abspath(model) if os.path.exists(model) else model


def _kind(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"
