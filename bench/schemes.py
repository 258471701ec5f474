"""The cost and benefit of each scheme of weights. On one core: taskset -c 1 python -m bench.schemes

    --checkpoint PATH     to pack: a checkpoint or a directory (default: models/ende-student/float32)
    --test NAME=FILE      a set to judge by, lines of source TAB reference; may be given several times
    --calibration FILE    source sentences, none of them in the sets: adds the calibrated schemes
    --sizes NAME ...      random students of real sizes (bench/students.py), for size and speed only
    --simulated N         sentences of each set that 8-bit columns of several kinds translate (default: 200; 0: none)

Packs the model in every scheme with `quantize pack`, and compares each with float32 by the figures of `quantize
report`: size on disk, BLEU, chrF and agreement with float32 on each set, words per second one at a time and in bulk.
Another table compares ranges of 8-bit columns, that of Kim et al. 2019 among them, in NumPy (bench/simulated.py).
The share of the core's peak is that of the products of a bulk translation while they run (bench/product_share.py).
"""

import tempfile
from pathlib import Path

from bench import simulated
from bench.harness.command import command, machine, save
from bench.harness.texts import SENTENCES, STUDENT, text_lines
from bench.packing import pack_quietly
from bench.product_share import product_share
from bench.programs.profiled import Profiled
from bench.students import SIZES, write_student
from cpunmt import Translator
from cpunmt.model.config import SCHEMES
from quantize.commands.shared_options import whole
from quantize.evaluation.evaluation_set import EvaluationSet, named_set, read_evaluation_set
from quantize.evaluation.report import measure

CALIBRATED = ("int8", "log4", "code4")  # schemes with calibrated rounding


def variants(calibration) -> dict[str, list[str]]:
    """Returns name -> options of `quantize pack`."""
    found = {scheme: ["--scheme", scheme] for scheme in ("float32", "float16", "int16", "int8", "log4", "code4")}
    if calibration:
        found |= {f"{name}, calibrated": [*found[name], "--calibration", str(calibration)] for name in CALIBRATED}
        found["int8, kv 16 bits"] = [*found["int8, calibrated"], "--keep", "*.cross_attention.key_value=int16"]
    return found


def judge(name, model, baseline, sets, rounds, lines, profiled) -> dict:
    """Returns all figures of one packed model."""
    report = measure(model, baseline, sets, rounds=rounds, samples=0)
    share = product_share(Translator(model), lines, profiled)
    return {"name": name, "share_of_peak": share, **{key: report[key] for key in ("size", "sets", "model")}}


def heading(sets) -> str:
    """Returns the first line of the table."""
    judged = "".join(f" {one.name + ': BLEU':>18} {'chrF':>5} {'same %':>6}" for one in sets if one.references)
    return f"{'':18} {'MB':>6} {'share':>5}{judged} {'single':>7} {'x':>5} {'bulk':>7} {'x':>5} {'peak %':>6}"


def row(found) -> str:
    """Returns one line of it."""
    size, sets = found["size"], found["sets"]
    weights = found["model"]["files"]["weights.safetensors"]["bytes"]
    text = f"{found['name']:18} {weights / 1e6:6.2f} {size['weights_ratio']:5.3f}"
    for one in sets:
        if one["bleu"]:
            same = 100 * one["agreement"]["sentences"]
            text += f" {one['bleu']['model']:18.2f} {one['chrf']['model']:5.1f} {same:6.1f}"
    for mode in ("one_at_a_time", "bulk"):
        speed = sets[-1]["speed"][mode]
        text += f" {speed['model']:7.0f} {speed['ratio']:5.2f}"
    return f"{text} {100 * found['share_of_peak']:6.1f}"


def table(title, models, sets, rounds, lines) -> list[dict]:
    """Judges models (name -> directory, float32 among them), and prints a line for each when it is done."""
    profiled = Profiled()
    print(f"\n{title}\n{heading(sets)}", flush=True)
    rows = []
    for name, model in models.items():
        rows.append(judge(name, model, models["float32"], sets, rounds, lines, profiled))
        print(row(rows[-1]), flush=True)
    return rows


def main(arguments=None):
    parser = command("bench.schemes", __doc__, rounds=5)
    parser.add_argument("--checkpoint", type=Path, default=STUDENT / "float32")
    parser.add_argument("--test", type=named_set, action="append", default=[], metavar="NAME=FILE")
    parser.add_argument("--calibration", type=Path, metavar="FILE")
    parser.add_argument("--sizes", nargs="*", choices=SIZES, default=list(SIZES))
    parser.add_argument("--simulated", type=whole(0, 1_000_000), default=200, metavar="N")
    chosen = parser.parse_args(arguments)
    print(machine())
    sources = text_lines()
    speech = EvaluationSet("speed", str(SENTENCES), "", sources[:: len(sources) // 300][:300], [])
    results = {"machine": machine()}
    with tempfile.TemporaryDirectory() as folder:
        models = {}
        for name, options in variants(chosen.calibration).items():
            models[name] = Path(folder) / name.replace(", ", "-")
            pack_quietly(chosen.checkpoint, models[name], *options)
        sets = [read_evaluation_set(name, path) for name, path in chosen.test]
        title = str(chosen.checkpoint)
        results[title] = table(title, models, [*sets, speech], chosen.rounds, speech.sources)
        judged = [one for one in sets if one.references]
        if judged and chosen.simulated > 0:
            results["simulated"] = simulated.measure(models["float32"], judged, chosen.simulated)
            simulated.show(results["simulated"], chosen.simulated)
        for size in chosen.sizes:
            models = {scheme: Path(folder) / f"{size}-{scheme}" for scheme in ("float32", *SCHEMES)}
            for scheme, path in models.items():
                write_student(path, size, scheme)
            results[size] = table(size, models, [speech], chosen.rounds, speech.sources)
    save(chosen.json, results)


if __name__ == "__main__":
    main()
