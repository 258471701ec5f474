"""The projection step: over the whole vocabulary, over each row's cluster, and over the union of all rows' clusters.

A step is that of one sentence, searched greedily, or of 20 sentences with a beam of 2, the paper's setting. States are
those of translations, one step after the other. The step is from the decoder's output to the best continuations, the
nearest centroids included. All but the union (see `ways`) is the engine's own code.
"""

import math
from collections.abc import Mapping

import numpy as np

from bench.harness.timing import median_ratio
from bench.papers.clusters2022.steps import Projection, Setting
from cpunmt.engine.engine import Engine
from cpunmt.text.shortlists.clusters import Clusters
from quantize.clusters.states import Step

FULL = "whole vocabulary"
_SLICE = 0.05  # seconds of one timing, if there are enough steps


def measure(
    program, engine: Engine, given: Step, setting: Setting, sets: Mapping[str, Clusters], rounds: int
) -> list[dict]:
    """Returns rows by set of clusters: microseconds of a step, the least CPU time, and times the speed over FULL.

    The last is the median of the rounds, in which all ways take turns.
    """
    of = {FULL: Projection(program, engine, given, setting)}
    of |= {name: Projection(program, engine, given, setting, clusters) for name, clusters in sets.items()}
    ways = [(name, False) for name in of]
    if setting.rows > 1:
        ways += [(name, True) for name in sets]
    seconds: dict = {way: [] for way in ways}
    steps = {(name, union): _steps(of[name], union) for name, union in ways}
    for _ in range(rounds):
        for name, union in ways:
            seconds[name, union].append(of[name].seconds(steps[name, union], union))
    for projection in of.values():
        projection.all()
    whole, rows = seconds[FULL, False], []
    for name, clusters in sets.items():
        nearest = clusters.nearest(given.states)
        row = {
            "rows": str(setting),
            "sets": name,
            "active": float(clusters.sizes[nearest].mean()) / clusters.vocab_size,
            "clusters_of_a_step": float(
                np.mean([len(set(part)) for part in nearest.reshape(-1, setting.rows).tolist()])
            ),
            "same_best": float((of[name].best == of[FULL].best).mean()),
            "whole": 1e6 * min(whole),
            "by_row": _told(seconds[name, False], whole),
        }
        if setting.rows > 1:
            row["union"] = _told(seconds[name, True], whole)
            row["union_share"] = of[name].all(union=True) / clusters.vocab_size
        rows.append(row)
    return rows


def _steps(projection, union) -> int:
    """Returns the number of steps timed at once."""
    few = min(projection.steps, 4)
    seconds = min(projection.seconds(few, union) for _ in range(2))
    return max(1, min(projection.steps, math.ceil(_SLICE / max(seconds, 1e-7))))


def _told(seconds, whole) -> dict:
    return {"microseconds": 1e6 * min(seconds), "speedup": median_ratio(whole, seconds)}


def show(title: str, rows: list[dict]):
    """Prints the table."""
    print(f"\nProjection step, {title}: us (times {FULL})")
    heads = f"{'sets':>10}{'active':>10}{'whole':>10}{'by row':>18}{'clusters':>10}"
    print(f"{'':20}{heads}{'union':>18}{'of all':>8}  same best")
    for row in rows:
        union = f"{'':26}"
        if "union" in row:
            union = f"{_cell(row['union']):>18}{100 * row['union_share']:6.1f} %"
        shares = f"{row['sets']:>10}{100 * row['active']:8.3f} %"
        times = f"{row['whole']:10.0f}{_cell(row['by_row']):>18}{row['clusters_of_a_step']:10.1f}{union}"
        print(f"{row['rows']:20}{shares}{times}{100 * row['same_best']:9.1f} %", flush=True)


def _cell(told) -> str:
    return f"{told['microseconds']:.0f} ({told['speedup']:.1f})"
