"""Figures 2 and 3: speed against BLEU of all English-German students that ship, as words for a dollar.

models/deen-student, which translates in the other direction, is left out. Each has its own shortlist. Speeds are of
processor time: waiting for a shared core does not count.
"""

import statistics

from bench.harness.drawing import svg_bytes
from bench.harness.texts import ROOT
from bench.harness.timing import in_turn
from bench.papers.wngt2019 import cost
from bench.papers.wngt2019.decoders import BATCHES, bleu_by_set
from bench.papers.wngt2019.workload import Workload
from cpunmt import Translator
from quantize.evaluation.evaluation_set import EvaluationSet
from quantize.evaluation.report_picture import load_figure

# name -> directory below models/
STUDENTS = {
    "ende": "ende",
    "ende, float16": "ende/float16",
    "ende-tiny": "ende-tiny",
    "ende-tiny, 4 bits": "ende-tiny/log4",
    "ende-tiny, float16": "ende-tiny/float16",
    "ende-student": "ende-student",
    "ende-student, float32": "ende-student/float32",
    "ende-gru": "ende-gru",
    "ende-deen": "ende-deen",
}
_TEXT = 8  # points
_MARKERS = {1: "o", 32: "s"}  # by batch


def students(names=tuple(STUDENTS)) -> dict[str, Translator]:
    """Returns the loaded students by name."""
    languages = {"ende-deen": {"target_lang": "de"}}  # it translates in two directions
    return {name: Translator(ROOT / "models" / STUDENTS[name], **languages.get(name, {})) for name in names}


def measure(
    translators: dict[str, Translator], lines: list[str], rounds: int, sets: list[EvaluationSet], price: float
) -> list[dict]:
    """Returns rows of words/s and millions of words per dollar by batch, and BLEU by set."""
    rows = [{"name": name, "batches": {}, "bleu": bleu_by_set(t, sets)} for name, t in translators.items()]
    for size in BATCHES:
        work = Workload(lines, size)
        seconds = in_turn({name: work.pruned(t) for name, t in translators.items()}, rounds, warm=1).seconds
        for row in rows:
            row["batches"][size] = {"words_per_second": work.words / statistics.median(seconds[row["name"]])}
    for row, spent in zip(rows, cost.measure(rows, price), strict=True):
        row["million_words_a_dollar"] = spent["batches"]
    return rows


def frontier(points: dict[str, tuple[float, float]]) -> list[str]:
    """Returns the names of points (speed, BLEU) that no other one beats or equals in both, the fastest first."""
    found, best = [], float("-inf")
    for name in sorted(points, key=lambda name: (-points[name][0], -points[name][1])):
        if points[name][1] > best:
            found.append(name)
            best = points[name][1]
    return found


def picture(rows: list[dict]) -> bytes:
    """Returns SVG with a panel for each set: BLEU over words for a dollar, and the frontier of each batch.

    Raises CpunmtError if matplotlib is not installed.
    """
    sets = list(rows[0]["bleu"])
    figure = load_figure()(figsize=(8, 3.2 * len(sets)), layout="constrained")
    for axis, name in zip(figure.subplots(len(sets), squeeze=False)[:, 0], sets, strict=True):
        for batch, marker in _MARKERS.items():
            points = {row["name"]: (row["million_words_a_dollar"][batch], row["bleu"][name]) for row in rows}
            axis.plot(*zip(*(points[best] for best in frontier(points)), strict=True), color="0.7", zorder=0)
            told = "one at a time" if batch == 1 else f"batches of {batch}"
            axis.scatter(*zip(*points.values(), strict=True), marker=marker, color="0.2", s=14, label=told)
            for one, place in points.items():
                offset = {"xytext": (4, 3), "textcoords": "offset points"}
                axis.annotate(one, place, **offset, fontsize=_TEXT - 2, parse_math=False)
        axis.set_xscale("log", subs=(2, 5))
        axis.xaxis.set_major_formatter("{x:.0f}")
        axis.xaxis.set_minor_formatter("{x:.0f}")
        axis.margins(x=0.15)
        axis.set_title(name, fontsize=_TEXT, loc="left", parse_math=False)
        axis.set_ylabel("BLEU", fontsize=_TEXT)
        axis.tick_params(labelsize=_TEXT, which="both")
        axis.legend(fontsize=_TEXT)
    axis.set_xlabel("million words for a dollar", fontsize=_TEXT)
    return svg_bytes(figure)


def show(rows: list[dict], price: float):
    sets = list(rows[0]["bleu"])
    heads = [f"batch {size}, $" for size in BATCHES] + [f"BLEU {name}" for name in sets]
    print(f"\nFigures 2 and 3 in kind: words/s, million words at {price} dollars an hour")
    print(" " * 30 + "".join(f"{head:>20}" for head in heads))
    for row in rows:
        made = [(row["batches"][size]["words_per_second"], row["million_words_a_dollar"][size]) for size in BATCHES]
        told = [f"{words:.0f}, {millions:.0f}" for words, millions in made]
        told += [f"{row['bleu'][name]:.2f}" for name in sets]
        print(row["name"].ljust(30) + "".join(f"{text:>20}" for text in told), flush=True)
