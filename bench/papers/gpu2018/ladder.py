"""Gains of fused output, removal and top-up, over the baselines of both documents.

A, over REMOVED:    fused output (Figures 3 and 4: speed up to +23 % and +41 %), top-up (Figures 6 and 7: -18 to 0 %
                    with maxi-batches, alone up to +12 %), both (Figures 9 and 10: up to +34 % and +57 % alone, +21 %
                    and +41 % with maxi-batches)
B, over STAYING:    removal, then fused output: 30 % to more than 3 times faster than Marian, for all of its changes
"""

import statistics
from functools import partial

from bench.harness.timing import in_turn, median_ratio
from bench.papers.gpu2018.work import ORDERS, Task
from bench.top_up.ways import HALF, MINI_BATCHES, REMOVAL, WAYS, Decoders
from cpunmt.search.settings import Search

STAYING, REMOVED = "all stay", "removal"
RUNGS = {  # name -> (the way of bench.top_up, whether output is fused)
    STAYING: (MINI_BATCHES, False),
    REMOVED: (REMOVAL, False),
    "removal, fused": (REMOVAL, True),
    "top-up": (HALF, False),
    "top-up, fused": (HALF, True),
}


def measure(task: Task, beams: list[int], batches: list[int], rounds: int) -> list[dict]:
    """Returns rows of source pieces/s, and times both baselines, by workload, order, beam and size of mini-batch; CPU
    time.
    """
    decoders, rows = Decoders(task.engine), []
    for workload, work in task.works.items():
        for order, ordered in ORDERS.items():
            for beam in beams:
                for slots in batches:
                    search = Search(beam_size=beam, full=True, scored=False)
                    ways = {
                        name: partial(
                            decoders.run, WAYS[way], ordered(work), search._replace(stepwise=not fused), slots
                        )
                        for name, (way, fused) in RUNGS.items()
                    }
                    seconds = in_turn(ways, rounds, warm=1).seconds
                    speeds = {
                        name: {
                            "pieces_per_second": work.pieces / statistics.median(found),
                            "over_staying": median_ratio(seconds[STAYING], found),
                            "over_removal": median_ratio(seconds[REMOVED], found),
                        }
                        for name, found in seconds.items()
                    }
                    about = {"workload": workload, "order": order, "beam": beam, "batch": slots}
                    rows.append({**about, "rungs": speeds})
    return rows


def show(title: str, rows: list[dict]):
    """Prints the table."""
    print(f"\nA and B in kind: {title}: source pieces/s (times A's baseline, times B's)\n{'':44}", end="")
    print("".join(f"{name:>20}" for name in RUNGS))
    for row in rows:
        told = [
            f"{rung['pieces_per_second']:.0f} ({rung['over_removal']:.2f}, {rung['over_staying']:.2f})"
            for rung in row["rungs"].values()
        ]
        about = f"{row['workload']}, {row['order']}, beam {row['beam']}, batch {row['batch']}"
        print(f"{about:44}" + "".join(f"{text:>20}" for text in told), flush=True)
