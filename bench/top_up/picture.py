"""A picture of the rows of each step: a panel for each way and workload. Greys only; it prints in black and white."""

from bench.harness.drawing import svg_bytes
from bench.top_up.ways import MINI_BATCHES, REMOVAL
from quantize.evaluation.report_picture import load_figure

_TEXT = 8  # points


def picture(rows: dict[str, dict[str, list[int]]]) -> bytes:
    """Returns SVG of the rows of each step, by workload and way; the same bytes for the same numbers.

    In mini-batches the rows of unfinished sentences, equal to removal's, are dark. Raises CpunmtError if matplotlib is
    not installed.
    """
    workloads, ways = list(rows), list(next(iter(rows.values())))
    figure = load_figure()(figsize=(8, 0.6 + 1.1 * len(ways)), layout="constrained")
    axes = figure.subplots(len(ways), len(workloads), squeeze=False, sharex="col", sharey="row")
    for column, workload in enumerate(workloads):
        for axis, way in zip(axes[:, column], ways, strict=True):
            found = rows[workload][way]
            if way == MINI_BATCHES:
                _fill(axis, found, "0.85")
                _fill(axis, rows[workload][REMOVAL], "0.35")
            else:
                _fill(axis, found, "0.35")
            axis.set_title(f"{way}: {len(found):,} steps", fontsize=_TEXT, loc="left", parse_math=False)
            axis.tick_params(labelsize=_TEXT)
            axis.margins(x=0)
            axis.set_ylim(0, None)
            for side in ("top", "right"):
                axis.spines[side].set_visible(False)
        axes[-1, column].set_xlabel(f"step, {workload}", fontsize=_TEXT, parse_math=False)
    figure.supylabel("rows", fontsize=_TEXT)
    return svg_bytes(figure)


def _fill(axis, numbers: list[int], grey: str):
    changes = [0, *(i for i in range(1, len(numbers)) if numbers[i] != numbers[i - 1])]
    heights = [numbers[i] for i in changes]
    axis.fill_between([*changes, len(numbers)], [*heights, heights[-1]], step="post", color=grey, linewidth=0)
