"""The tables of Kim et al. 2019 in kind. On one core: taskset -c 1 python -m bench.papers.wngt2019

    --only TABLE ...      of steps, decoders, sigmas, sizes, cost, frontier (default: all)
    --checkpoint PATH     of steps and sigmas: a checkpoint or a directory (default: models/ende-tiny/float16)
    --decoder NAME=PATH   a trained student with another decoder; may be given several times
    --test NAME=FILE      a set to judge by, lines of source TAB reference; may be given several times
    --size NAME           of the random students of `decoders` (default: base)
    --lengths LOW-HIGH    segments of that many words, in place of sentences
    --price DOLLARS       an hour of the core (default: what the paper pays)
    --picture FILE        of frontier: draw it there, as SVG

Students with other decoders are trained as models/train/README.md says.
"""

import tempfile
from pathlib import Path

from bench.harness.command import command, machine, save
from bench.harness.texts import SHIPPED, evenly, length_range, segments, text_lines
from bench.packing import pack_quietly
from bench.papers.wngt2019 import cost, decoders, frontier, sigmas, sizes, steps
from cpunmt.files.output_files import replacing_file
from quantize.evaluation.evaluation_set import named_set, read_evaluation_set

TABLES = ("steps", "decoders", "sigmas", "sizes", "cost", "frontier")


def parse(arguments):
    parser = command("bench.papers.wngt2019", __doc__, rounds=7, sentences=320)
    parser.add_argument("--only", nargs="+", choices=TABLES, default=TABLES)
    parser.add_argument("--checkpoint", type=Path, default=SHIPPED / "float16")
    parser.add_argument("--decoder", type=named_set, action="append", default=[], metavar="NAME=PATH")
    parser.add_argument("--test", type=named_set, action="append", default=[], metavar="NAME=FILE")
    parser.add_argument("--size", choices=decoders.SIZES, default="base")
    parser.add_argument("--lengths", type=length_range, metavar="LOW-HIGH")
    parser.add_argument("--price", type=float, default=cost.PRICE)
    parser.add_argument("--picture", metavar="FILE")
    return parser.parse_args(arguments)


def main(arguments=None):
    chosen = parse(arguments)
    lines = evenly(text_lines(), chosen.sentences)
    if chosen.lengths:
        lines = segments(text_lines(), *chosen.lengths, chosen.sentences)
    sets = [read_evaluation_set(name, path) for name, path in chosen.test]
    results = {"machine": machine()}
    print(results["machine"])
    with tempfile.TemporaryDirectory() as folder:
        for table in [table for table in TABLES if table in chosen.only]:
            results[table] = TABLE[table](chosen, Path(folder), lines, sets, results)
    save(chosen.json, results)


def _steps(chosen, folder, lines, sets, results):
    packed = {scheme: folder / f"steps-{scheme}" for scheme in ("float32", "int16", "int8")}
    for scheme, path in packed.items():
        pack_quietly(chosen.checkpoint, path, "--scheme", scheme)
    rows = steps.measure(packed, lines, chosen.rounds)
    steps.show(rows)
    return rows


def _decoders(chosen, folder, lines, sets, results):
    random = decoders.write_random(folder, chosen.size)
    found = {"random": decoders.measure(random, lines, chosen.rounds, [], projecting=True)}
    decoders.show(f"Figure 1 in kind, random students of size {chosen.size}", found["random"])
    if chosen.decoder:
        trained = {name: folder / f"trained-{name}" for name, _ in chosen.decoder}
        for name, path in chosen.decoder:
            pack_quietly(Path(path), trained[name])
        found["trained"] = decoders.measure(trained, lines, chosen.rounds, sets)
        decoders.show("Figure 1 in kind, trained students", found["trained"])
    return found


def _sigmas(chosen, folder, lines, sets, results):
    rows = sigmas.measure(chosen.checkpoint, folder, sets)
    sigmas.show(rows)
    return rows


def _sizes(chosen, folder, lines, sets, results):
    rows = sizes.measure()
    sizes.show(rows)
    return rows


def _cost(chosen, folder, lines, sets, results):
    rows = cost.measure(results.get("steps") or _steps(chosen, folder, lines, sets, results), chosen.price)
    cost.show(rows, chosen.price)
    return rows


def _frontier(chosen, folder, lines, sets, results):
    if not sets:
        print("\nfrontier: left out, for it takes --test")
        return []
    rows = frontier.measure(frontier.students(), lines, chosen.rounds, sets, chosen.price)
    frontier.show(rows, chosen.price)
    if chosen.picture:
        with replacing_file(chosen.picture) as file:
            file.write(frontier.picture(rows))
    return rows


TABLE = {
    "steps": _steps,
    "decoders": _decoders,
    "sigmas": _sigmas,
    "sizes": _sizes,
    "cost": _cost,
    "frontier": _frontier,
}


if __name__ == "__main__":
    main()
