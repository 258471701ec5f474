"""The tables and the figure of Devlin 2017 in kind. On one core: taskset -c 1 python -m bench.papers.devlin2017

    --only TABLE ...        of products (Figure 1), ladder (Table 1), speeds (Table 2), quality (Table 2 in kind), known
                            (the share of frequent words, whose first products are stored, in all of --input)
    --trained NAME=PATH     a trained model: a checkpoint, several with commas between them are an ensemble. `ladder`
                            climbs with the first one too, `quality` judges all. May be given several times
    --test NAME=FILE        a set to judge by, lines of source TAB reference; may be given several times
    --shortlist FILE        of the trained models (default: that of models/ende-tiny)
    --mkl PATH              libmkl_rt, for timing MKL beside OpenBLAS (default: where pip puts it)
    --input FILE            lines whose lengths are taken, and which the trained model translates
    --ranking FILE          for `known`: a text by whose words the vocabulary is ranked (default: the same as --input)

"Sharp Models on Dull Hardware", https://arxiv.org/abs/1705.01991. Its sizes: see `systems`; its baseline: `baseline`.
"""

import tempfile
from pathlib import Path

from bench.harness.command import command, machine, one_line_errors, positive, save
from bench.harness.texts import SENTENCES, SHIPPED
from quantize.evaluation.evaluation_set import named_set, read_evaluation_set

MORE = 10  # times as many sentences for a trained model, which is smaller, and whose translations are compared
TABLES = ("products", "ladder", "speeds", "quality", "known")


def parse(arguments):
    parser = command("bench.papers.devlin2017", __doc__, rounds=7, sentences=12)
    parser.add_argument("--only", nargs="+", choices=TABLES, default=TABLES)
    parser.add_argument("--trained", type=named_set, action="append", default=[], metavar="NAME=PATH[,PATH...]")
    parser.add_argument("--test", type=named_set, action="append", default=[], metavar="NAME=FILE")
    parser.add_argument("--shortlist", type=Path, default=SHIPPED / "shortlist.bin")
    parser.add_argument("--mkl", help="path of libmkl_rt (default: where pip puts it in this environment)")
    parser.add_argument("--input", type=Path, default=SENTENCES)
    parser.add_argument("--ranking", type=Path, metavar="FILE")
    parser.add_argument("--rows", type=positive, nargs="+", help="of the products (default: 1 to 8, 12 and 16)")
    parser.add_argument("--divisor", type=positive, default=1, help="of all widths, to try it out")
    parser.add_argument("--vocabulary", type=positive, default=80_000, help="words of the random networks")
    return parser.parse_args(arguments)


def main(arguments=None):
    chosen = parse(arguments)
    from bench.harness.texts import evenly, read_lines
    from bench.papers.devlin2017 import sgemm, systems

    with one_line_errors("bench.papers.devlin2017"):
        found = [line for line in read_lines(chosen.input) if line.strip()]
        libraries = {"OpenBLAS": sgemm.openblas(), "MKL": sgemm.mkl(chosen.mkl)}
    lines = evenly(found, chosen.sentences), evenly(found, MORE * chosen.sentences)
    sizes = systems.Sizes(chosen.vocabulary, chosen.divisor)
    results = {"machine": machine()}
    print(results["machine"])
    if libraries["MKL"] is None:
        print("MKL is not installed: left out")
    with tempfile.TemporaryDirectory() as folder:
        for table in [table for table in TABLES if table in chosen.only]:
            results[table] = TABLE[table](chosen, Path(folder), lines, sizes, libraries)
    save(chosen.json, results)


def _products(chosen, folder, lines, sizes, libraries):
    from bench.papers.devlin2017 import products
    from bench.programs import compiled

    return products.measure(compiled.load(), tuple(libraries.values()), chosen.rounds, rows_list=chosen.rows)


def _ladder(chosen, folder, lines, sizes, libraries):
    from bench.papers.devlin2017 import baseline, ladder, sgemm, work

    competing = {}
    if libraries["OpenBLAS"]:
        _, multiply, integer = libraries["OpenBLAS"]
        competing["OpenBLAS"] = baseline.sgemm_products("openblas", multiply, integer)
    if libraries["MKL"]:
        competing["MKL"] = baseline.sgemm_products("mkl", libraries["MKL"].cblas_sgemm, sgemm.ctypes.c_int)
    found = []
    works = [work.random_work("S1", lines[0], sizes)]
    if chosen.trained:
        checkpoint = Path(chosen.trained[0][1].split(",")[0])
        works.append(work.trained_work(checkpoint, folder, lines[1], chosen.shortlist))
    for one in works:
        found.append({"of": one.name, **ladder.measure(one, competing, chosen.rounds)})
        ladder.show(one.name, found[-1])
    return found


def _speeds(chosen, folder, lines, sizes, libraries):
    from bench.papers.devlin2017 import speeds

    rows = speeds.measure(lines[0], sizes, chosen.rounds)
    speeds.show(rows)
    return rows


def _quality(chosen, folder, lines, sizes, libraries):
    from bench.papers.devlin2017 import quality

    sets = [read_evaluation_set(name, path) for name, path in chosen.test]
    if not sets or not chosen.trained:
        print("\nquality: left out, for it takes --trained and --test")
        return []
    models = {name: [Path(path) for path in paths.split(",")] for name, paths in chosen.trained}
    rows = quality.measure(models, folder, chosen.shortlist, sets, chosen.rounds)
    quality.show(rows, sets)
    return rows


def _known(chosen, folder, lines, sizes, libraries):
    from bench.harness.texts import read_lines
    from bench.papers.devlin2017 import known

    found = known.measure(read_lines(chosen.input), read_lines(chosen.ranking or chosen.input), chosen.vocabulary)
    known.show(found)
    return found


TABLE = {"products": _products, "ladder": _ladder, "speeds": _speeds, "quality": _quality, "known": _known}

if __name__ == "__main__":
    main()
