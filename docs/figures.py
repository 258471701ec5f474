"""Writes the figures of docs/benchmarks.json into README.md and docs/benchmarks.md, and draws docs/benchmarks.svg.

    python -m docs.figures

`bench.peers.figures` measures them. A table stands between the lines `<!-- figures: NAME -->` and `<!-- end -->`.
"""

import itertools
import json
import re
from pathlib import Path

from cpunmt.files.output_files import replacing_file
from docs.picture import Group, picture

ROOT = Path(__file__).resolve().parent.parent
FIGURES, CHART = ROOT / "docs" / "benchmarks.json", ROOT / "docs" / "benchmarks.svg"
PAGES = (ROOT / "README.md", ROOT / "docs" / "benchmarks.md")
SIZES = {"opus": "OPUS-MT's size", "nllb": "NLLB-200 600M's size"}
MODES = {"single": "one at a time", "bulk": "in bulk"}
KINDS = {
    (beam, mode): ("" if beam == 1 else f"beam {beam}, ") + name for beam in (1, 4) for mode, name in MODES.items()
}
OURS = {"cpunmt": "int8", "cpunmt, 4 bits": "4 bits"}  # of the larger models
CHARTED = ("cpunmt", "bergamot", "CTranslate2")
FLOATS = ("transformers", "onnxruntime")  # peers that compute in float32, of the larger models only
_BLOCK = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- end -->\n)", re.S)


def student_table(figures: dict) -> list[list[str]]:
    """Returns rows of the trained student: a kind of lines each, speeds and how much faster cpunmt is."""
    peers = [peer for peer in figures["versions"] if peer not in FLOATS]
    heading = ["lines"]
    for mode in MODES.values():
        heading += [mode, *(f"x {peer}" for peer in peers)]
    found: dict[str, list[str]] = {}
    for row in figures["rows"]:
        if row["model"] in SIZES:
            continue
        name = row["lines"] + (f", beam {row['beam']}" if row["beam"] > 1 else "")
        cells = found.setdefault(name, [name])
        cells.append(f"{row['speeds']['cpunmt']:,}")
        cells += [f"{row['faster']['cpunmt'][peer]:.1f}" for peer in peers]
    return [heading, *found.values()]


def size_table(figures: dict) -> list[list[str]]:
    """Returns rows of the larger models: a size and its bits each, speeds and how much faster cpunmt is."""
    heading = [""]
    for kind in KINDS.values():
        heading += [kind, "x CTranslate2"]
    found = [heading]
    for size, name in SIZES.items():
        rows = _rows_of(figures, size)
        for engine, bits in OURS.items():
            cells = [f"{name}, {bits}"]
            for row in map(rows.get, KINDS):
                cells += (
                    [f"{row['speeds'][engine]:,}", f"{row['faster'][engine]['CTranslate2']:.1f}"] if row else ["", ""]
                )
            found.append(cells)
    return found


def float_table(figures: dict) -> list[list[str]]:
    """Returns rows of the peers that compute in float32, for the larger models: speeds, and how much faster cpunmt is
    in int8 and in 4 bits."""
    heading = [""]
    for kind in KINDS.values():
        heading += [kind, "x " + "; ".join(OURS.values())]
    found = [heading]
    for (size, name), peer in itertools.product(SIZES.items(), FLOATS):
        rows = {kind: row for kind, row in _rows_of(figures, size).items() if peer in row["speeds"]}
        cells = [f"{name}, {peer}"]
        for row in map(rows.get, KINDS):
            faster = "; ".join(f"{row['faster'][engine][peer]:.1f}" for engine in OURS) if row else ""
            cells += [f"{row['speeds'][peer]:,}" if row else "", faster]
        found += [cells] if rows else []
    return found


def _rows_of(figures: dict, size: str) -> dict[tuple[int, str], dict]:
    """Returns (beam, mode) -> the row of a larger model."""
    return {(row["beam"], row["mode"]): row for row in figures["rows"] if row["model"] == size}


def chart(figures: dict) -> list[Group]:
    """Returns the groups of the chart: whole lines of the student, and OPUS-MT's size, greedy."""
    found = []
    for row in figures["rows"]:
        sized = row["model"] in SIZES
        if row["beam"] == 1 and (row["model"] == "opus" if sized else row["lines"] == "as they are"):
            name = SIZES[row["model"]] if sized else "A student of Firefox's kind"
            speeds = {engine: row["speeds"][engine] for engine in CHARTED if engine in row["speeds"]}
            title, unit = f"{name}, {MODES[row['mode']]}", "pieces/s" if sized else "words/s"
            found.append(Group(title, unit, speeds, row["faster"]["cpunmt"]))
    return found


def machine_line(figures: dict) -> str:
    """Returns a sentence about the machine and the run."""
    machine, peers = figures["machine"], ", ".join(f"{name} {number}" for name, number in figures["versions"].items())
    isa = machine["isa"].upper().replace("_", "-")
    note = f"; {figures['note']}" if figures["note"] else ""
    return (
        f"One core of an {machine['cpu']} guest ({isa}), {peers}, commit {figures['commit']}, {figures['date']}{note}."
    )


def written(text: str, figures: dict) -> str:
    """Returns a page with today's tables; one without rows is left out."""
    tables = {"students": student_table, "sizes": size_table, "float32": float_table}

    def block(found: re.Match) -> str:
        if found[2] == "machine":
            return f"{found[1]}{machine_line(figures)}\n{found[3]}"
        heading, *rows = tables[found[2]](figures)
        if not rows:
            return found[1] + found[3]
        lines = ["|".join(["", *(f" {cell} " if cell else " " for cell in cells), ""]) for cells in (heading, *rows)]
        return "\n".join([found[1] + lines[0], f"|{'---|' * len(heading)}", *lines[1:], found[3]])

    return _BLOCK.sub(block, text)


def main() -> None:
    """Writes the pages and the chart."""
    figures = json.loads(FIGURES.read_text("utf-8"))
    for page in PAGES:
        made = written(page.read_text("utf-8"), figures)
        with replacing_file(str(page)) as file:
            file.write(made.encode())
    with replacing_file(str(CHART)) as file:
        file.write(picture(chart(figures)))


if __name__ == "__main__":
    main()
