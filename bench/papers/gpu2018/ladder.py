"""Figures 9 and 10: fused output, then removal and top-up, cumulatively, on unsorted sentences.

Known of the paper: bias, softmax and search took 77 to 87 % less time for a beam of 1, 56 to 72 % less for wider ones,
and whole translations up to 41 % less. Its sizes of mini-batches and beams are unknown: see the options.
"""

import statistics
from functools import partial

from bench.harness.timing import in_turn, median_ratio
from bench.papers.gpu2018.work import Task
from bench.top_up.ways import HALF, MINI_BATCHES, REMOVAL, WAYS, Decoders
from cpunmt.search.settings import Search

# name -> (the way of bench.top_up, whether output is fused)
RUNGS = {
    "mini-batches, step by step": (MINI_BATCHES, False),
    "+ fused output": (MINI_BATCHES, True),
    "+ removal": (REMOVAL, True),
    "+ top-up": (HALF, True),
}


def measure(task: Task, beams: list[int], batches: list[int], rounds: int) -> list[dict]:
    """Returns rows of words/s, and times the first rung, by workload, beam and size of mini-batch; CPU time."""
    decoders, rows = Decoders(task.engine), []
    for workload, work in task.works.items():
        for beam in beams:
            for slots in batches:
                search = Search(beam_size=beam, full=True, scored=False)
                ways = {
                    name: partial(decoders.run, WAYS[way], work, search._replace(stepwise=not fused), slots)
                    for name, (way, fused) in RUNGS.items()
                }
                seconds = in_turn(ways, rounds, warm=1).seconds
                first = next(iter(seconds.values()))
                speeds = {
                    name: {
                        "words_per_second": work.words / statistics.median(found),
                        "speedup": median_ratio(first, found),
                    }
                    for name, found in seconds.items()
                }
                rows.append({"workload": workload, "beam": beam, "batch": slots, "rungs": speeds})
    return rows


def show(title: str, rows: list[dict]):
    """Prints the table."""
    print(f"\nFigures 9 and 10 in kind: {title}: words/s, and times the first")
    print(f"{'':32}" + "".join(f"{name:>28}" for name in RUNGS))
    for row in rows:
        told = [f"{rung['words_per_second']:.0f} ({rung['speedup']:.2f})" for rung in row["rungs"].values()]
        about = f"{row['workload']}, beam {row['beam']}, batch {row['batch']}"
        print(f"{about:32}" + "".join(f"{text:>28}" for text in told), flush=True)
