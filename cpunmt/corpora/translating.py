"""Translations of rows: equal texts are translated once, and cached ones not at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from cpunmt.corpora.flags import IsIn, flags_of
from cpunmt.corpora.inputs.rows import Made, Rows
from cpunmt.corpora.job import Job
from cpunmt.corpora.translation_cache import Translated, TranslationCache
from cpunmt.files.windows import windows
from cpunmt.results.repetition import repeats
from cpunmt.results.results import Result
from cpunmt.translator.translator import Translator

WINDOW = 4096  # texts translated together: after each window progress is reported, and its results are dropped

Progress = Callable[[float], object]  # called with the finished share of a shard


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
        texts, job = rows.texts, self._job
        distinct = dict.fromkeys(text for text in texts if text is not None)
        found = self._translated(list(distinct), progress)
        columns: dict[str, Any] = {job.into: [None if text is None else found[text].text for text in texts]}
        if job.with_score:
            columns["score"] = [None if text is None else found[text].score for text in texts]
        flags = None
        if job.filters:
            of = {text: flags_of(made, job.filters, self._is_in) for text, made in found.items()}
            flags = [() if text is None else of[text] for text in texts]
        return Made(columns, flags, len(distinct))

    def _translated(self, texts: list[str], progress: Progress) -> dict[str, Translated]:
        found = dict(self._cache.found(texts)) if self._cache else {}
        missing = [text for text in texts if text not in found] if found else texts
        done = len(found)
        for window in windows(missing, WINDOW, WINDOW):
            results = self._translator.translate(window, **self._options)
            made = [(text, self._told(text, result)) for text, result in zip(window, results, strict=True)]
            if self._cache:
                self._cache.add(made)
            found.update(made)
            done += len(window)
            progress(done / len(texts))
        return found

    def _told(self, text: str, result: Result) -> Translated:
        best = result.hypotheses[0]
        loops = best.repeats and not repeats(self._translator.tokenize(text))
        return Translated(best.text, best.score, result.num_source_pieces, len(best.pieces), loops, best.truncated)
