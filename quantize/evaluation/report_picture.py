"""A report as a picture: SQNR of every layer as bars; beside it size, quality, agreement and speed.

Drawn by matplotlib (the extra `report`). Only greys and hatches, every bar with its figure: it prints in black and
white.
"""

import io
from typing import Any

from cpunmt.errors import CpunmtError

_SERIES = [("1.0", ""), ("0.6", ""), ("0.85", "///")]  # of the baseline, of the model, or of three figures
_FILLS = [("0.6", ""), ("0.85", "///"), ("0.3", ""), ("1.0", "..."), ("0.75", "xxx"), ("0.95", "")]  # grey, hatch
_SMALL = 7  # points


def load_figure() -> Any:
    """Returns matplotlib's Figure. Raises CpunmtError, with the installation, if it is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise CpunmtError(
            "the picture is drawn by matplotlib, which is not installed: pip install 'cpunmt[report]'; without "
            "--picture there are the table and --json"
        ) from None
    return Figure


def picture(report: dict[str, Any]) -> bytes:
    """Returns a PNG of a report of `quantize.evaluation.report.measure`."""
    panels = [_size]
    if report["sets"]:
        panels += [_agreement]
        if any(one["bleu"] for one in report["sets"]):
            panels.insert(1, _bleu)
        if any(one["speed"] for one in report["sets"]):
            panels.append(_speed)
    rows = len(report["layers"])
    sets = max(1, len(report["sets"]))
    heights = [1.2 if panel is _size else 0.8 + 0.55 * sets * (2 if panel is _speed else 1) for panel in panels]
    height = max(1.5 + 0.2 * rows, 1.0 + sum(heights) + 0.5 * len(heights))
    figure = load_figure()(figsize=(14.5, height), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=[1.25, 1])
    title = f"{report['model']['path']} against {report['baseline']['path']}"
    figure.suptitle(title, fontsize=10, parse_math=False)
    _layers(left.subplots(), report["layers"])
    axes = right.subplots(len(panels), 1, height_ratios=heights, squeeze=False)[:, 0]
    for panel, axis in zip(panels, axes, strict=True):
        panel(axis, report)
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=130, metadata={"Software": None})
    return drawn.getvalue()


def _layers(axis: Any, layers: Any) -> None:
    schemes = list(dict.fromkeys(layer["scheme"] for layer in layers))
    known = [layer["sqnr_db"] for layer in layers if layer["sqnr_db"] is not None]
    most = max([*known, 10.0])
    for place, layer in enumerate(layers):
        grey, hatch = _FILLS[schemes.index(layer["scheme"]) % len(_FILLS)]
        decibels = layer["sqnr_db"]
        if decibels is None:
            axis.text(0, place, " nothing lost", va="center", fontsize=_SMALL)
            continue
        axis.barh(place, decibels, facecolor=grey, hatch=hatch, edgecolor="black", linewidth=0.6)
        clipped = f", {100 * layer['clipped']:.2g} % clipped" if layer["clipped"] else ""
        axis.text(max(decibels, 0), place, f" {decibels:.1f}{clipped}", va="center", fontsize=_SMALL)
        lowest = layer["worst_columns"][0]["sqnr_db"]
        for color, width in (("white", 4), ("black", 2)):  # visible on dark bars, too
            axis.vlines(lowest, place - 0.4, place + 0.4, color=color, linewidth=width)
    axis.set_yticks(range(len(layers)), [layer["name"] for layer in layers], fontsize=_SMALL)
    axis.set_ylim(len(layers) - 0.4, -0.6)
    axis.set_xlim(min([0.0, *known]), 1.25 * most)
    _plain(axis)
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    fills = [_FILLS[place % len(_FILLS)] for place in range(len(schemes))]
    handles: list[Any] = [
        Patch(facecolor=grey, hatch=hatch, edgecolor="black", label=scheme)
        for scheme, (grey, hatch) in zip(schemes, fills, strict=True)
    ]
    handles.append(Line2D([], [], color="black", linewidth=2, marker="", label="worst column"))
    _headed(axis, "SQNR in dB", handles)


def _size(axis: Any, report: Any) -> None:
    """Draws a bar for each model, with its large files stacked."""
    pair = [report["model"]["files"], report["baseline"]["files"]]
    names = sorted(pair[0] | pair[1], key=lambda name: -max(files.get(name, {"bytes": 0})["bytes"] for files in pair))
    large, size = names[:3], report["size"]
    for place, files in enumerate(pair):
        begin = 0.0
        for (grey, hatch), name in zip(_FILLS, large, strict=False):
            length = files.get(name, {"bytes": 0})["bytes"] / 1e6
            label = name.split(".")[0] if place == 0 else None
            axis.barh(place, length, left=begin, facecolor=grey, hatch=hatch, edgecolor="black", label=label)
            begin += length
        whole = sum(file["bytes"] for file in files.values()) / 1e6  # the few bytes of the others would be invisible
        told = "" if place else f"   {size['ratio']:.3f} of float32, weights {size['weights_ratio']:.3f}"
        axis.text(begin, place, f" {whole:.2f}{told}", va="center", fontsize=_SMALL)
    axis.set_xlim(0, 1.6e-6 * max(size["bytes"], size["baseline_bytes"]))
    axis.set_yticks([0, 1], [report["model"]["scheme"], "float32"], fontsize=_SMALL)
    axis.invert_yaxis()
    _headed(axis, "Size in MB")
    _plain(axis)


def _bleu(axis: Any, report: Any) -> None:
    groups = []
    for one in report["sets"]:
        scores = one["bleu"]
        if scores is None:
            continue
        interval = "  [{:+.2f} .. {:+.2f}]".format(*scores["interval"]) if scores["interval"] else ""
        groups.append((one["name"], [scores["baseline"], scores["model"]], f"{scores['difference']:+.2f}{interval}"))
    _bars(axis, groups, "{:.2f}", ["float32", report["model"]["scheme"]])
    _headed(axis, "BLEU, change and its 95 % interval")


def _agreement(axis: Any, report: Any) -> None:
    groups = []
    for one in report["sets"]:
        found = one["agreement"]
        groups.append((one["name"], [100 * found["sentences"], 100 * found["tokens"], found["chrf"]], ""))
    _bars(axis, groups, "{:.2f}", ["identical sentences, %", "tokens, %", "chrF to float32"])
    axis.set_xlim(0, 115)
    axis.set_xticks(range(0, 101, 20))
    _headed(axis, "Agreement")


def _speed(axis: Any, report: Any) -> None:
    groups = []
    for one in report["sets"]:
        for mode, called in (("one_at_a_time", "one at a time"), ("bulk", "bulk")):
            if one["speed"]:
                found = one["speed"][mode]
                values = [found["baseline"], found["model"]]
                groups.append((f"{one['name']},\n{called}", values, f"{found['ratio']:.2f} times"))
    _bars(axis, groups, "{:,.0f}", ["float32", report["model"]["scheme"]])
    _headed(axis, "Speed in words/s")


def _bars(axis: Any, groups: Any, form: Any, names: Any) -> None:
    """Draws two or three bars for each group (name, values, words behind the last figure), and their figures."""
    width = 0.4 if len(names) == 2 else 0.27
    for place, (_, values, told) in enumerate(groups):
        for number, (value, (grey, hatch)) in enumerate(zip(values, _SERIES, strict=False)):
            y, is_last = place + (number - (len(names) - 1) / 2) * width, number == len(names) - 1
            label = names[number] if place == 0 else None
            axis.barh(y, value, width, facecolor=grey, hatch=hatch, edgecolor="black", linewidth=0.8, label=label)
            said = form.format(value) + (f"   {told}" if told and is_last else "")
            axis.text(value, y, f" {said}", va="center", fontsize=_SMALL)
    _sets(axis, [name for name, _, _ in groups])
    axis.set_xlim(0, 1.6 * max(max(values) for _, values, _ in groups) or 1)


def _sets(axis: Any, names: Any) -> None:
    axis.set_yticks(range(len(names)), names, fontsize=_SMALL)
    axis.set_ylim(len(names) - 0.4, -0.6)
    _plain(axis)


def _headed(axis: Any, title: str, handles: Any = None) -> None:
    """Draws a title, and the legend beside it, where it hides no figures."""
    axis.set_title(title, fontsize=9, loc="left")
    handles = handles or axis.get_legend_handles_labels()[0]
    place = {"loc": "lower right", "bbox_to_anchor": (1, 1), "ncols": 7, "borderpad": 0, "columnspacing": 1}
    axis.legend(handles=handles, fontsize=_SMALL, frameon=False, **place)


def _plain(axis: Any) -> None:
    axis.tick_params(labelsize=_SMALL)
    axis.grid(axis="x", color="0.85", linewidth=0.5)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
