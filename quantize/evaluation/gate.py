"""Limits for a quantized model. Each has one side: a model that is better than its baseline passes.

    bleu=0.3         BLEU lost, at most, on each test set
    chrf=0.5         chrF lost, at most, on each test set
    agreement=0.9    share of sentences equal to the baseline's, at least, on each test set
    tokens=0.99      share of pieces equal to the baseline's under forced decoding, at least, on each test set
    size=0.3         weights.safetensors, at most this part of the baseline's
    sqnr=20          decibels, at least, of each layer

`agreement@multi30k=0.88` is for the test set of that name, and replaces the general limit there.
"""

import math
import os
from typing import Any, NamedTuple

from cpunmt.errors import CpunmtError
from quantize.evaluation.evaluation_set import EvaluationSet
from quantize.evaluation.report import measure, work
from quantize.progress import progress_bar

_MEASURES = {  # title, whether the limit is a minimum, whether a test set is needed
    "bleu": ("BLEU lost", False, True),
    "chrf": ("chrF lost", False, True),
    "agreement": ("identical sentences", True, True),
    "tokens": ("agreeing tokens", True, True),
    "size": ("weights against the baseline's", False, False),
    "sqnr": ("lowest SQNR in dB", True, False),
}


class Limit(NamedTuple):
    """One limit of a gate."""

    measure: str
    set: str | None  # None: every test set without a limit of its own, or a figure without test sets
    value: float


class Verdict(NamedTuple):
    """The result of one limit in one place."""

    measure: str
    where: str | None  # a test set or a layer
    found: float
    limit: float

    @property
    def kept(self) -> bool:
        return self.found >= self.limit if _MEASURES[self.measure][1] else self.found <= self.limit

    @property
    def bound(self) -> str:
        """Returns the limit in words."""
        return f"{'at least' if _MEASURES[self.measure][1] else 'at most'} {self.limit:g}"

    @property
    def name(self) -> str:
        """Returns the name of the limited figure, in words."""
        return _MEASURES[self.measure][0]

    def __str__(self) -> str:
        place = f" ({self.where})" if self.where else ""
        return f"{self.name}{place}: {self.found:.4g}, expected {self.bound}"

    def to_json(self) -> dict[str, Any]:
        """Returns JSON values; infinity becomes null."""
        found = self.found if math.isfinite(self.found) else None
        return {"measure": self.measure, "where": self.where, "found": found, "limit": self.limit, "kept": self.kept}


def check(
    model: str | os.PathLike[str],
    baseline: str | os.PathLike[str],
    sets: list[EvaluationSet],
    gate: list[Limit],
    settings: dict[str, Any] | None = None,
) -> list[str]:
    """Returns the limits that a packed model breaks against its float32 baseline, one line each; [] if it keeps all.

    Shows a progress bar on stderr if that is a terminal. For parameters and errors see `report.measure`; raises
    CpunmtError too for a limit that these sets cannot judge.
    """
    refuse_unjudged(gate, sets)
    with progress_bar(work(sets, 0), "sentences") as progress:
        report = measure(model, baseline, sets, settings, rounds=0, samples=0, progress=progress)
    return [str(verdict) for verdict in judge(report, gate) if not verdict.kept]


def parse_gate(text: str) -> list[Limit]:
    """Parses limits of the command line: "bleu=0.3,agreement@news=0.8". Raises ValueError for wrong ones."""
    limits: list[Limit] = []
    for item in text.split(","):
        left, _, right = (part.strip() for part in item.partition("="))
        measured, at, name = left.partition("@")
        if measured not in _MEASURES:
            raise ValueError(f"{item.strip()!r}: expected NAME=LIMIT with one of the names {', '.join(_MEASURES)}")
        if at and not name:
            raise ValueError(f"{item.strip()!r}: expected the name of a test set after @")
        if at and not _MEASURES[measured][2]:
            raise ValueError(f"{item.strip()!r}: {measured} does not depend on a test set, expected {measured}=LIMIT")
        try:
            value = float(right)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise ValueError(f"{item.strip()!r}: expected a number after =")
        if measured in ("agreement", "tokens") and not 0 <= value <= 1:
            raise ValueError(f"{item.strip()!r}: expected a share from 0 to 1")
        if any((limit.measure, limit.set) == (measured, name or None) for limit in limits):
            raise ValueError(f"{left} is given twice")
        limits.append(Limit(measured, name or None, value))
    return limits


def refuse_unjudged(gate: list[Limit], sets: list[EvaluationSet]) -> None:
    """Raises CpunmtError if a report on these sets could not judge a limit."""
    names = {one.name for one in sets}
    for measured, name, _ in gate:
        of_sets = _MEASURES[measured][2]
        if of_sets and not sets:
            raise CpunmtError(f"gate: {measured} is measured on test sets, and there is none; give one")
        if name and name not in names:
            raise CpunmtError(f"gate: no test set is called {name!r}; there are {', '.join(sorted(names))}")
        for one in sets:
            if measured in ("bleu", "chrf") and name in (None, one.name) and not one.references:
                advice = "" if name else f"; limit the others by {measured}@NAME"
                raise CpunmtError(f"gate: {measured} needs references, which {one.path} lacks{advice}")


def judge(report: dict[str, Any], gate: list[Limit]) -> list[Verdict]:
    """Returns the result of each limit, in order, by a report of `quantize.evaluation.report.measure`."""
    verdicts = []
    for measured, name, value in gate:
        if measured == "size":
            verdicts.append(Verdict(measured, None, report["size"]["weights_ratio"], value))
        elif measured == "sqnr":
            verdicts.append(_lowest(report["layers"], value))
        else:
            own = {limit.set for limit in gate if limit.measure == measured and limit.set}
            chosen = [one for one in report["sets"] if (one["name"] == name if name else one["name"] not in own)]
            verdicts += [Verdict(measured, one["name"], _of_set(one, measured), value) for one in chosen]
    return verdicts


def _of_set(one: Any, measured: Any) -> Any:
    if measured in ("bleu", "chrf"):
        return -one[measured]["difference"]
    return one["agreement"]["sentences" if measured == "agreement" else "tokens"]


def _lowest(layers: Any, value: Any) -> Any:
    lossy = [layer for layer in layers if layer["sqnr_db"] is not None]
    if not lossy:
        return Verdict("sqnr", None, math.inf, value)
    worst = min(lossy, key=lambda layer: layer["sqnr_db"])
    return Verdict("sqnr", worst["name"], worst["sqnr_db"], value)
