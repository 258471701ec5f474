"""The changes of Junczys-Dowmunt et al. 2018, in kind. On one core: taskset -c 1 python -m bench.papers.wnmt2018

    --only TABLE ...          of students, memoization (default: all)
    --student NAME=PATH       a trained checkpoint, in each scheme; may be given several times
    --test NAME=FILE          a set to judge these by, lines of source TAB reference; may be given several times
    --size NAME               of the random students (default: base)

"Marian: Cost-effective High-Quality Neural Machine Translation in C++", https://arxiv.org/abs/1805.12096.
"""

import tempfile
from pathlib import Path

from bench.harness.command import command, machine, save
from bench.harness.texts import evenly, text_lines
from bench.papers.wngt2019 import decoders
from bench.papers.wnmt2018 import memoization, students
from quantize.evaluation.evaluation_set import named_set, read_evaluation_set

TABLES = ("students", "memoization")


def parse(arguments):
    parser = command("bench.papers.wnmt2018", __doc__, rounds=5, sentences=160)
    parser.add_argument("--only", nargs="+", choices=TABLES, default=TABLES)
    parser.add_argument("--student", type=named_set, action="append", default=[], metavar="NAME=PATH")
    parser.add_argument("--test", type=named_set, action="append", default=[], metavar="NAME=FILE")
    parser.add_argument("--size", choices=decoders.SIZES, default="base")
    return parser.parse_args(arguments)


def main(arguments=None):
    """Runs the command."""
    chosen = parse(arguments)
    lines = evenly(text_lines(), chosen.sentences)
    sets = [read_evaluation_set(name, path) for name, path in chosen.test]
    results = {"machine": machine()}
    print(results["machine"])
    if "students" in chosen.only:
        with tempfile.TemporaryDirectory() as folder:
            models = {"random": students.write_random(Path(folder), chosen.size)}
            if chosen.student:
                models["trained"] = students.pack_trained(chosen.student, Path(folder))
            for name, packed in models.items():
                rows = decoders.measure(packed, lines, chosen.rounds, sets if name == "trained" else [])
                results.setdefault("students", {})[name] = rows
                decoders.show(f"Students in kind, {name} ones", rows)
    if "memoization" in chosen.only:
        size = "base" if chosen.size == "base" else "tiny11"
        results["memoization"] = memoization.measure(size, lines, chosen.rounds)
        memoization.show(size, results["memoization"])
    save(chosen.json, results)


if __name__ == "__main__":
    main()
