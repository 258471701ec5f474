"""A, Figures 1 (news) and 5 (subtitles): shares of the time, step by step and fused; maxi-batches with removal."""

import itertools

from bench.papers.gpu2018.work import ORDERS, Task
from bench.programs.profiled import PRODUCTS, Profiled
from bench.programs.running import running
from bench.top_up.ways import REMOVAL, WAYS, Decoders
from cpunmt.search.settings import Search

SEARCH, PRODUCT = "bias, softmax, search", "output product"
ENTERED = {
    **dict.fromkeys(("score_rows", "choose_fused"), PRODUCT),
    **dict.fromkeys(("row_logits", "choose", "select"), SEARCH),
}
PARTS = ("encoder", "decoder", PRODUCT, SEARCH)


def measure(task: Task, beams: list[int], slots: int, profiled: Profiled) -> list[dict]:
    """Returns rows of the share of each of PARTS, by workload, beam and way.

    Clocks are around every kernel, some 20 ns a call, which are counted for the caller.
    """
    decoders, rows = Decoders(task.engine), []
    with running(task.engine, profiled):
        for (workload, work), beam in itertools.product(task.works.items(), beams):
            work, fused = ORDERS["maxi-batches"](work), Search(beam_size=beam, full=True)
            ways = {"step by step": fused._replace(stepwise=True), "fused": fused}
            if beam == 1:
                ways["fused, no scores"] = fused._replace(scored=False)
            for name, search in ways.items():
                decoders.run(WAYS[REMOVAL], work, search, slots)
                profiled.counts[:] = 0
                decoders.run(WAYS[REMOVAL], work, search, slots)
                cycles = _cycles(profiled)
                whole = sum(cycles.values())
                shares = {part: cycles[part] / whole for part in PARTS}
                rows.append({"workload": workload, "beam": beam, "way": name, "shares": shares})
    return rows


def _cycles(profiled: Profiled) -> dict[str, int]:
    """Sums cycles by part. In the output layer, every kernel other than products is search."""
    found = dict.fromkeys(PARTS, 0)
    for phase, counts in zip(profiled.phases, profiled.counts[:, :, 0], strict=True):
        for name, cycles in zip(profiled.names, counts.tolist(), strict=True):
            is_product = phase == PRODUCT and name in PRODUCTS
            found[SEARCH if phase == PRODUCT and not is_product else phase] += cycles
    return found


def show(title: str, rows: list[dict]):
    """Prints the table."""
    print(f"\nA, Figures 1 and 5 in kind: {title}\n{'':36}" + "".join(f"{part:>24}" for part in PARTS))
    for row in rows:
        shares = "".join(f"{100 * row['shares'][part]:22.1f} %" for part in PARTS)
        print(f"{row['workload'] + ', beam ' + str(row['beam']) + ', ' + row['way']:36}{shares}", flush=True)
