"""Figures of a benchmark as a bar chart.

    python -m docs.picture docs/benchmarks.json docs/benchmarks.svg

The figures are a JSON object: "title", "unit", and "groups", a list of objects with a "name" and "bars", the figure of
each engine by its name. All groups have the same engines. The chart has only greys
and hatches, and every bar shows its figure, so it prints in black and white.
"""

import argparse
import io
import json
from pathlib import Path

from cpunmt.errors import CpunmtError
from cpunmt.files.output_files import replacing_file
from quantize.evaluation.report_picture import load_figure

_FILLS = [("0.25", ""), ("0.9", "///"), ("0.7", ""), ("1.0", "..."), ("0.8", "xxx")]  # grey, hatch
_TEXT = 8  # points


def read_figures(path) -> dict:
    """Reads and checks a file of figures. Raises CpunmtError if it does not hold those of a chart."""
    try:
        figures = json.loads(Path(path).read_text("utf-8"))
        engines = [list(group["bars"]) for group in figures["groups"]]
        values = [value for group in figures["groups"] for value in group["bars"].values()]
        titles = [figures["title"], figures["unit"], *(group["name"] for group in figures["groups"])]
    except OSError as error:
        raise CpunmtError(f"{path}: cannot read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CpunmtError(f'{path}: expected "title", "unit" and "groups" with "name" and "bars": {error!r}') from None
    if not engines or not engines[0] or any(names != engines[0] for names in engines):
        raise CpunmtError(f"{path}: the groups have {engines}, expected the same engines in each, one at least")
    if not all(isinstance(title, str) for title in titles) or not all(
        isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e12 for value in values
    ):
        raise CpunmtError(f"{path}: expected texts as names, and figures above 0")
    return figures


def picture(figures: dict) -> bytes:
    """Draws the chart as SVG, with the same bytes for the same figures."""
    engines, groups = list(figures["groups"][0]["bars"]), figures["groups"]
    if len(engines) > len(_FILLS):
        raise CpunmtError(f"{len(engines)} engines, expected at most {len(_FILLS)}")
    figure = load_figure()(figsize=(8, 1.2 + 0.24 * len(groups) * (len(engines) + 1)), layout="constrained")
    axis = figure.subplots()
    height = 0.8 / len(engines)
    for place, group in enumerate(groups):
        for number, (name, (grey, hatch)) in enumerate(zip(engines, _FILLS, strict=False)):
            value, y = group["bars"][name], place + (number - (len(engines) - 1) / 2) * height
            label = name if place == 0 else None
            axis.barh(
                y, value, 0.9 * height, facecolor=grey, hatch=hatch, edgecolor="black", linewidth=0.6, label=label
            )
            axis.text(value, y, f" {value:,.4g}" if value < 1000 else f" {value:,.0f}", va="center", fontsize=_TEXT)
    axis.set_yticks(range(len(groups)), [group["name"] for group in groups], fontsize=_TEXT + 1, parse_math=False)
    axis.set_ylim(len(groups) - 0.4, -0.6)
    axis.set_xlim(0, 1.12 * max(value for group in groups for value in group["bars"].values()))
    axis.set_xlabel(figures["unit"], fontsize=_TEXT, parse_math=False)
    axis.xaxis.set_major_formatter("{x:,.0f}")
    axis.tick_params(axis="x", labelsize=_TEXT)
    axis.grid(axis="x", color="0.85", linewidth=0.5)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    figure.suptitle(figures["title"], fontsize=_TEXT + 2, parse_math=False)
    figure.legend(fontsize=_TEXT, frameon=False, loc="outside lower center", ncols=len(engines))
    import matplotlib

    drawn = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "cpunmt"}):  # names inside are random otherwise
        figure.savefig(drawn, format="svg", metadata={"Date": None, "Creator": None})
    return drawn.getvalue()


def main(arguments=None):
    """Draws the chart."""
    parser = argparse.ArgumentParser(prog="python -m docs.picture", description=__doc__.split("\n")[0])
    parser.add_argument("figures", help="JSON, see the module's docstring")
    parser.add_argument("out", help="the SVG file to write")
    chosen = parser.parse_args(arguments)
    try:
        drawn = picture(read_figures(chosen.figures))
        with replacing_file(chosen.out) as file:
            file.write(drawn)
    except CpunmtError as error:
        raise SystemExit(f"docs.picture: error: {error}") from None


if __name__ == "__main__":
    main()
