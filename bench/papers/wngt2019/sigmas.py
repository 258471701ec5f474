"""The range of an int8 column: its largest weight, but at most N standard deviations."""

from pathlib import Path

from bench.packing import pack_quietly
from quantize.evaluation.evaluation_set import EvaluationSet
from quantize.evaluation.report import measure as report

SIGMAS = (2, 3, 4, 5, 6, 7, 8, 10)


def measure(checkpoint: Path, folder: Path, sets: list[EvaluationSet]) -> list[dict]:
    """Returns rows by sigma: signal to noise of the worst matrix, agreement with float32 and BLEU on each set."""
    baseline, rows = folder / "sigma-float32", []
    pack_quietly(checkpoint, baseline, "--scheme", "float32")
    for sigmas in SIGMAS:
        model = folder / f"sigma-{sigmas}"
        pack_quietly(checkpoint, model, "--sigmas", str(sigmas))
        found = report(model, baseline, sets, rounds=0, samples=0)
        worst = min(layer["sqnr_db"] for layer in found["layers"] if layer["sqnr_db"] is not None)
        clipped = [layer["clipped"] for layer in found["layers"]]
        judged = {
            one["name"]: {"same": one["agreement"]["sentences"], "bleu": one["bleu"] and one["bleu"]["model"]}
            for one in found["sets"]
        }
        rows.append({"sigmas": sigmas, "worst_sqnr_db": worst, "clipped": max(clipped), "sets": judged})
    return rows


def show(rows: list[dict]):
    print("\nWhere an int8 column ends: min(max, N sigma)")
    heads = [head for name in rows[0]["sets"] for head in (f"same {name}", f"BLEU {name}")]
    print(f"{'N':>4}{'worst SQNR dB':>16}{'clipped %':>12}" + "".join(f"{head:>22}" for head in heads))
    for row in rows:
        told = ""
        for one in row["sets"].values():
            told += f"{100 * one['same']:>21.1f}%" + (f"{one['bleu']:>22.2f}" if one["bleu"] is not None else " " * 22)
        print(f"{row['sigmas']:>4}{row['worst_sqnr_db']:>16.1f}{100 * row['clipped']:>12.3f}{told}", flush=True)
