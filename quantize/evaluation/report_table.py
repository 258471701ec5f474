"""A report as text: aligned tables with a line for each layer, file or test set."""

from collections.abc import Sequence
from typing import Any

from cpunmt.files.tables import aligned
from cpunmt.layers.schemes import SCHEMES
from quantize.evaluation.gate import Verdict


def report_lines(report: dict[str, Any], verdicts: Sequence[Verdict] = ()) -> list[str]:
    """Returns the lines of a report of `quantize.evaluation.report.measure`, and the verdicts of a gate."""
    blocks = [_heading(report), _layers(report["layers"]), _files(report)]
    if report["activations"]:
        blocks.insert(2, _activations(report["activations"]))
    if report["sets"]:
        blocks += [_scores(report["sets"]), _agreement(report["sets"])]
    if any(one["speed"] for one in report["sets"]):
        blocks.append(_speed(report["sets"]))
    if verdicts:
        blocks.append(_gate(verdicts))
    return "\n\n".join("\n".join(block) for block in blocks).split("\n")


def _heading(report: Any) -> Any:
    machine, versions = report["machine"], report["versions"]
    cores = ",".join(map(str, machine["cores"]))
    lines = [f"{name:9} {_described(report[name])}" for name in ("model", "baseline")]
    lines.append(f"machine   {machine['cpu']}, {machine['isa']}, may use core(s) {cores}")
    lines.append(f"versions  {', '.join(f'{name} {version}' for name, version in versions.items())}")
    return lines + [f"note      {note}" for note in report["notes"]]


def _described(model: Any) -> str:
    schemes = " and ".join([model["scheme"], *sorted(set(model["schemes"].values()))])
    rounded = SCHEMES[model["scheme"]] != "float32"
    scales = f", {model['activation_scales']} activation scales" if rounded else ""
    words = f"{model['vocabulary']} vocabulary, beam {model['beam_size']}"
    return f"{model['path']}: {schemes}{scales}, {words}, SHA-256 {model['weights_sha256'][:16]}"


def _layers(layers: Any) -> Any:
    rows = []
    for layer in layers:
        shape = " x ".join(map(str, layer["shape"]))
        worst = " ".join(f"{c['column']} ({c['sqnr_db']:.1f})" for c in layer["worst_columns"][:3])
        ratio = layer["bytes"] / layer["baseline_bytes"]
        clipped = f"{100 * layer['clipped']:.4f}"
        names = [layer["name"], layer["scheme"]]
        rows.append([*names, shape, f"{layer['bytes']:,}", f"{ratio:.3f}", _decibels(layer), clipped, worst or "-"])
    heading = ["layer", "scheme", "shape", "bytes", "ratio", "SQNR dB", "clipped %", "worst columns (dB)"]
    return aligned(heading, rows, 2)


def _activations(found: Any) -> list[Any]:
    told = f"{found['sentences']:,} sentences of {found['file']}"
    if not found["layers"]:
        return [f"activations: no product of this model reads what a ReLU leaves ({told})"]
    rows = []
    for layer in found["layers"]:
        shares = [f"{100 * layer[key]:.1f}" for key in ("zeros", "groups", "unused")]
        rows.append([layer["name"], f"{layer['depth']:,}", f"{layer['rows']:,}", *shares])
    lines = aligned(["ReLU outputs read by", "units", "rows", "zero %", "4 zeros %", "never used %"], rows)
    return [*lines, f"As rounded to 8 bits; 4 zeros: groups of four units side by side. {told}"]


def _decibels(layer: Any) -> str:
    return "exact" if layer["sqnr_db"] is None else f"{layer['sqnr_db']:.2f}"


def _files(report: Any) -> Any:
    ours, theirs, size = report["model"]["files"], report["baseline"]["files"], report["size"]
    rows = [
        [name, _bytes(ours.get(name)), _bytes(theirs.get(name)), _ratio(ours.get(name), theirs.get(name))]
        for name in sorted(ours | theirs)
    ]
    rows.append(["all", f"{size['bytes']:,}", f"{size['baseline_bytes']:,}", f"{size['ratio']:.3f}"])
    step = size["step_bytes"], size["baseline_step_bytes"]
    rows.append(["a decoding step reads", *(f"{count:,}" for count in step), f"{step[0] / step[1]:.3f}"])
    return aligned(["file", "bytes", "baseline", "ratio"], rows)


def _bytes(file: Any) -> str:
    return f"{file['bytes']:,}" if file else "-"


def _ratio(ours: Any, theirs: Any) -> str:
    return f"{ours['bytes'] / theirs['bytes']:.3f}" if ours and theirs else "-"


def _scores(sets: Any) -> Any:
    rows = []
    for one in sets:
        fields = [one["name"], f"{one['sentences']:,}", f"{one['references']}"]
        for name in ("bleu", "chrf"):
            scores = one[name]
            if scores is None:
                fields += ["-"] * (4 if name == "bleu" else 3)
                continue
            fields += [f"{scores['baseline']:.2f}", f"{scores['model']:.2f}", f"{scores['difference']:+.2f}"]
            if name == "bleu":
                interval = scores["interval"]
                fields.append("{:+.2f} .. {:+.2f}".format(*interval) if interval else "-")
        rows.append(fields)
    heading = ["test set", "sentences", "refs", "BLEU float32", "model", "change", "95 % interval"]
    lines = aligned([*heading, "chrF float32", "model", "change"], rows)
    for name, called in (("bleu", "BLEU"), ("chrf", "chrF")):
        signatures = {one[name]["signature"]: None for one in sets if one[name]}
        lines += [f"{called}: {signature}" for signature in signatures]
    return lines


def _agreement(sets: Any) -> Any:
    rows = []
    for one in sets:
        found = one["agreement"]
        fields = [
            one["name"],
            f"{100 * found['sentences']:.2f}",
            f"{100 * found['tokens']:.3f}",
            f"{found['places']:,}",
        ]
        fields += [f"{found['chrf']:.2f}", f"{found['log_prob_difference']:+.5f}"]
        rows.append([*fields, f"{found['outside']:,}"])
    heading = ["against float32", "identical %", "tokens agreeing %", "of", "chrF to it", "log-prob change"]
    return aligned([*heading, "outside shortlist"], rows)


def _speed(sets: Any) -> Any:
    rows = []
    for one in sets:
        fields = [one["name"]]
        for mode in ("one_at_a_time", "bulk"):
            found = one["speed"][mode]
            fields += [f"{found['baseline']:,.0f}", f"{found['model']:,.0f}", f"{found['ratio']:.2f}"]
        rows.append(fields)
    modes = [["one at a time: float32", "model", "ratio"], ["bulk: float32", "model", "ratio"]]
    return aligned(["words/s", *modes[0], *modes[1]], rows)


def _gate(verdicts: Any) -> Any:
    rows = [[v.name, v.where or "", f"{v.found:.4g}", v.bound, "kept" if v.kept else "BROKEN"] for v in verdicts]
    return aligned(["gate", "", "found", "limit", ""], rows, 2)
