"""Doubtful translations, as the commands report them."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable
from typing import Any, NamedTuple

from cpunmt.commands.lines.streams import GROUP, STANDARD, Output
from cpunmt.files.console import say
from cpunmt.files.line_stream import encode_line
from cpunmt.options.options import Options
from cpunmt.results.results import DOUBTS, DoubtName, Result, sentences_of
from cpunmt.translator.translator import Translator
from cpunmt.values.checks import shown
from cpunmt.values.command_line import Parser

_SHOWN = 5  # lines or texts that a message names
_ALWAYS: tuple[DoubtName, ...] = ("truncated", "loop")  # the rest takes time


class _Said(NamedTuple):
    """How a doubt is reported: in statistics, of one translation, of several."""

    heading: str
    one: str
    several: str


_SAID: dict[DoubtName, _Said] = {
    "loop": _Said("loops", "looks like a loop", "look like loops"),
    "truncated": _Said("cut off", "was cut off at the length limit", "were cut off at the length limit"),
    "echo": _Said("untranslated", "has the words of its source", "have the words of their sources"),
    "script": _Said("other script", "is in another script", "are in another script"),
    "length": _Said("odd lengths", "has an improbable length", "have improbable lengths"),
    "numbers": _Said("lost numbers", "lacks a number", "lack numbers"),
    "kept": _Said("lost parts", "lacks a part that should stay", "lack parts that should stay"),
}


def add_doubts(parser: Parser, place: str) -> None:
    """Adds the flag for the file of doubtful sentences; `place`: what its first column has."""
    parser.group(GROUP).add_argument(
        "--doubts",
        metavar="FILE",
        type=_file,
        help=f"list doubtful sentences there, a line each: {place}, doubts, sentence, translation, with tabs between",
    )


def _file(path: str) -> str:
    if path in ("", STANDARD):
        raise argparse.ArgumentTypeError(f"{path!r}, expected the name of a file")
    return path


class Doubts:
    """The lines of a run whose translations are doubtful, by their numbers from 1."""

    def __init__(
        self, translator: Translator, options: dict[str, Any], every: bool = False, record: Output | None = None
    ):
        """`every`: look for all doubts, not only loops and truncated ones. `record`: gets a line for each sentence."""
        self._translator = translator
        self._judge = translator.text_call(options).judge()
        self._names = DOUBTS if every or record else _ALWAYS
        self._record = record
        self._places = {name: _Places() for name in _SAID if name in self._names}
        self._limits = {
            "max_length": options.get("max_length"),
            "max_length_factor": options.get("max_length_factor", translator.config.max_length_factor),
        }
        self._reached: set[str] = set()  # limits that have, or may have, cut off a translation

    def add(self, number: int, texts: Iterable[str], results: Iterable[Result]) -> None:
        """Looks for doubtful translations in a window of lines; `number` lines came before it."""
        for line, (text, result) in enumerate(zip(texts, results, strict=True), number + 1):
            doubtful = self._doubtful(text, result, str(line))
            names = {name for _, names in doubtful for name in names}
            if result.truncated:
                names.add("truncated")
            for name in names:
                self._places[name].add(line)

    def add_texts(self, file: str, texts: Iterable[str], results: Iterable[Result]) -> None:
        """Looks for doubtful translations of texts of `file`, without line numbers; reports them by their first
        words."""
        for text, result in zip(texts, results, strict=True):
            for sentence, names in self._doubtful(text, result, file):
                for name in names:
                    self._places[name].add(shown(sentence))

    def _doubtful(self, text: str, result: Result, place: str) -> list[tuple[str, list[DoubtName]]]:
        """Returns the doubtful sentences of a text, with their doubts."""
        if self._names is _ALWAYS and not (result.truncated or result.repeats):
            return []
        found = []
        for sentence, best in sentences_of(text, result.hypotheses[0]):
            names = [name for name in self._judge.doubts(sentence, best) if name in self._names]
            if "truncated" in names:
                self._reached |= self._limits_of(sentence, len(best.pieces))
            if names:
                found.append((sentence, names))
                if self._record:
                    fields = [place, ",".join(names), sentence, best.text]
                    self._record.write([encode_line("\t".join([field.replace("\t", " ") for field in fields]))])
        return found

    @property
    def counts(self) -> dict[str, int]:
        return {_SAID[name].heading: places.count for name, places in self._places.items()}

    def report(self, file: str | None = None) -> None:
        """Prints a line on stderr if there are doubts: how many, where, what to do; `file`: the document's name."""
        found = [
            f"{places.count} {_SAID[name].one if places.count == 1 else _SAID[name].several} ({places})"
            for name, places in self._places.items()
            if places.count
        ]
        advice = ["--beam-size 4 may end a loop"] if self._places["loop"].count else []
        if self._places["truncated"].count:
            advice += self._more_room()
        if found:
            what_to_do = f": {', '.join(advice)}" if advice else ""
            where = f"{file}: " if file else ""
            told = " and ".join([*([", ".join(found[:-1])] if found[:-1] else []), found[-1]])
            say(f"cpunmt: {where}of the translations {told}; look at them{what_to_do}")

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
