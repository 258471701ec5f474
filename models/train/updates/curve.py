"""The progress of a run: a line of JSON for each validation, and a picture of them."""

import json
from pathlib import Path

from cpunmt.files.output_files import replacing_file, write_file

LINES, PICTURE = "curve.jsonl", "curve.png"


def add_line(folder: Path, fields: dict):
    """Appends to the run's curve."""
    with open(folder / LINES, "a", encoding="utf-8") as file:
        file.write(json.dumps(fields) + "\n")


def lines(folder: Path, until: int | None = None) -> list[dict]:
    """Returns the run's curve, up to an update."""
    path = folder / LINES
    found = [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []
    return [fields for fields in found if until is None or fields["update"] <= until]


def cut(folder: Path, update: int):
    """Removes the lines after an update: a run that resumes there writes them again."""
    kept = lines(folder, update)
    write_file(folder / LINES, "".join(json.dumps(fields) + "\n" for fields in kept).encode())


def draw(folder: Path):
    """Draws cross-entropy and BLEU by updates."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    found = lines(folder)
    updates = [fields["update"] for fields in found]
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    left = figure.add_subplot()
    left.plot(updates, [fields["cross_entropy"] for fields in found], color="black", label="cross-entropy (training)")
    left.set_xlabel("updates")
    left.set_ylabel("nats per piece")
    right = left.twinx()
    for number, name in enumerate(found[-1]["bleu"] if found else ()):
        right.plot(updates, [fields["bleu"][name] for fields in found], color=f"C{number}", label=f"BLEU {name}")
    right.set_ylabel("BLEU, development")
    figure.legend(loc="outside upper center", ncols=4)
    with replacing_file(folder / PICTURE) as file:
        FigureCanvasAgg(figure).print_png(file)
