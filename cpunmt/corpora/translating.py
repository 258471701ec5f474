"""Translations of rows: equal texts are translated once, and cached ones not at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from cpunmt.corpora.directions import Direction, directions_of, lists
from cpunmt.corpora.flags import IsIn, flags_of
from cpunmt.corpora.inputs.rows import Made, Rows
from cpunmt.corpora.job import Job
from cpunmt.corpora.translation_cache import Translated, TranslationCache
from cpunmt.files.windows import windows
from cpunmt.results.results import Result
from cpunmt.translator.translator import Translator

WINDOW = 4096  # texts translated together: after each window progress is reported, and its results are dropped

Progress = Callable[[float], object]  # called with the finished share of a shard
Row = tuple[Direction, str]  # a text with its languages


class Maker(Protocol):
    """A maker of new columns."""

    def made(self, rows: Rows, progress: Progress) -> Made:
        """Returns the new columns."""


class Translating:
    """Translates the texts of rows."""

    def __init__(
        self,
        translator: Translator,
        options: dict[str, Any],
        job: Job,
        cache: TranslationCache | None = None,
        is_in: IsIn | None = None,
    ):
        """`is_in`: tests whether a text is in the filters' language."""
        self._translator, self._options, self._job = translator, options, job
        self._cache, self._is_in = cache, is_in

    def made(self, rows: Rows, progress: Progress) -> Made:
        """Returns the columns of a job: translations, scores and flags."""
        job = self._job
        directions = directions_of(rows, job.languages, self._translator, self._options)
        asked = [None if text is None else (named, text) for named, text in zip(directions, rows.texts, strict=True)]
        distinct = dict.fromkeys(row for row in asked if row is not None)
        found = self._translated(list(distinct), progress)
        columns: dict[str, Any] = {job.into: [None if row is None else found[row].text for row in asked]}
        if job.with_score:
            columns["score"] = [None if row is None else found[row].score for row in asked]
        flags = None
        if job.filters:
            of = {row: flags_of(made, job.filters, self._is_in) for row, made in found.items()}
            flags = [() if row is None else of[row] for row in asked]
        return Made(columns, flags, len(distinct))

    def _translated(self, rows: list[Row], progress: Progress) -> dict[Row, Translated]:
        found = self._cached(rows)
        missing = [row for row in rows if row not in found] if found else rows
        done = len(found)
        for window in windows(missing, WINDOW, WINDOW):
            named, texts = zip(*window, strict=True)
            results = self._translator.translate(texts, **self._options | lists(self._job.languages, named))
            made = [(row, self._told(result)) for row, result in zip(window, results, strict=True)]
            if self._cache:
                self._cache.add((_key(row), translated) for row, translated in made)
            found.update(made)
            done += len(window)
            progress(done / len(rows))
        return found

    def _cached(self, rows: list[Row]) -> dict[Row, Translated]:
        if self._cache is None:
            return {}
        keys = {_key(row): row for row in rows}
        return {keys[key]: translated for key, translated in self._cache.found(list(keys))}

    def _told(self, result: Result) -> Translated:
        doubts = result.doubts if self._cache or self._job.filters.named_doubts else ()  # they take time
        return Translated(result.text, result.score, result.num_source_pieces, len(result.pieces), doubts)


def _key(row: Row) -> str:
    """Returns the text under which a cache has a row; codes of languages have no zero byte."""
    return "\0".join((*row[0], row[1]))
