"""Doubtful translations: cut off at the length limit, or apparent loops."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from cpunmt.files.console import say
from cpunmt.options.options import Options
from cpunmt.results.repetition import repeats
from cpunmt.results.results import Result, sentences_of
from cpunmt.translator.translator import Translator
from cpunmt.values.checks import shown

_SHOWN = 5  # lines or texts that a message names


class Doubts:
    """The lines of a run whose translations are doubtful, by their numbers from 1."""

    def __init__(self, translator: Translator, options: dict[str, Any]):
        self._translator = translator
        self._cut, self._loops = _Places(), _Places()
        self._limits = {
            "max_length": options.get("max_length"),
            "max_length_factor": options.get("max_length_factor", translator.config.max_length_factor),
        }
        self._reached: set[str] = set()  # limits that have, or may have, cut off a translation

    def add(self, number: int, texts: Iterable[str], results: Iterable[Result]) -> None:
        """Looks for doubtful translations in a window of lines; `number` lines came before it."""
        for line, (text, result) in enumerate(zip(texts, results, strict=True), number + 1):
            cut, loops = self._doubtful(text, result)
            if cut or result.truncated:
                self._cut.add(line)
            if loops:
                self._loops.add(line)

    def add_texts(self, texts: Iterable[str], results: Iterable[Result]) -> None:
        """Looks for doubtful translations of texts without line numbers; reports them by their first words."""
        for text, result in zip(texts, results, strict=True):
            for places, sentences in zip((self._cut, self._loops), self._doubtful(text, result), strict=True):
                for sentence in sentences:
                    places.add(shown(sentence))

    def _doubtful(self, text: str, result: Result) -> tuple[list[str], list[str]]:
        """Returns the sentences of a text whose translations were cut off, and those whose translations loop."""
        if not (result.truncated or result.repeats):
            return [], []
        sentences = list(sentences_of(text, result.hypotheses[0]))
        cut = [(sentence, best) for sentence, best in sentences if best.truncated]
        for sentence, best in cut:
            self._reached |= self._limits_of(sentence, len(best.pieces))
        loops = [sentence for sentence, best in sentences if best.repeats and not self._repeats(sentence)]
        return [sentence for sentence, _ in cut], loops

    def _repeats(self, sentence: str) -> bool:
        return repeats(self._translator.tokenize(sentence))

    @property
    def counts(self) -> dict[str, int]:
        return {"cut off": self._cut.count, "loops": self._loops.count}

    def report(self, file: str | None = None) -> None:
        """Prints a line on stderr if there are doubts: how many, where, what to do; `file`: the document's name."""
        found, advice = [], []
        if self._loops.count:
            verb = "looks like a loop" if self._loops.count == 1 else "look like loops"
            found.append(f"{self._loops.count} {verb} ({self._loops})")
            advice.append("--beam-size 4 may end a loop")
        if self._cut.count:
            verb = "was" if self._cut.count == 1 else "were"
            found.append(f"{self._cut.count} {verb} cut off at the length limit ({self._cut})")
            advice += self._more_room()
        if found:
            what_to_do = f": {', '.join(advice)}" if advice else ""
            where = f"{file}: " if file else ""
            say(f"cpunmt: {where}of the translations {' and '.join(found)}; look at them{what_to_do}")

    def _limits_of(self, text: str, pieces: int) -> set[str]:
        """Returns the limits that may have cut off a translation of `pieces` pieces; in a sentence of parts each has
        its own.
        """
        longest, factor = self._limits.values()
        if longest is None or pieces < longest:
            return {"max_length_factor"}
        source = len(self._translator.tokenize(text)) + 1
        in_parts = source > self._translator.config.max_source_length
        return set(self._limits) if in_parts or math.ceil(factor * source) <= longest else {"max_length"}

    def _more_room(self) -> list[str]:
        """Returns advice about the limits that were reached; none can exceed its maximum."""
        known = Options.__dataclass_fields__
        above = [
            f"--{name.replace('_', '-')} above {value:g}"
            for name, value in self._limits.items()
            if name in self._reached and value < known[name].metadata["high"]
        ]
        return [f"{' and '.join(above)} give{'s' * (len(above) == 1)} more room"] if above else []


class _Places:
    """A count of lines or texts, with the numbers or the first words of the first few."""

    def __init__(self) -> None:
        self.count = 0
        self._first: list[int | str] = []

    def add(self, place: int | str) -> None:
        self.count += 1
        if self.count <= _SHOWN:
            self._first.append(place)

    def __str__(self) -> str:
        more = f" and {self.count - _SHOWN} more" if self.count > _SHOWN else ""
        what = "line" if isinstance(self._first[0], int) else "text"
        return f"{what}{'s' if self.count > 1 else ''} {', '.join(map(str, self._first))}{more}"
