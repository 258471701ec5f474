"""`experiment`: a table of a paper in kind. Trains its models one after the other, then judges them.

A stopped experiment goes on where it was when the same command is given again.
"""

import json
from pathlib import Path

from cpunmt.files.output_files import write_file
from models.train.commands import devlin_systems, dual_learning
from models.train.commands.steps import Main, Row, Steps
from models.train.commands.train import add_corpora
from models.train.text.corpora import read_corpora
from models.train.updates import curve
from models.train.updates.validation import validate

FEW = Path(__file__).parents[1] / "few.yaml"
TABLES = {"devlin2017": devlin_systems, "wngt2019": dual_learning}
RESULTS = "table.json"


def add_parser(commands, main: Main):
    """Adds `experiment`, whose steps are commands of `main`."""
    parser = commands.add_parser("experiment", help="a paper's table in kind: train, judge", allow_abbrev=False)
    parser.add_argument("table", choices=TABLES, help="Table 2 of Devlin 2017, or Table 1 of Kim et al. 2019")
    add_corpora(parser, FEW)
    parser.add_argument("--vocabulary", metavar="FILE", type=Path, required=True, help="SentencePiece model")
    parser.add_argument("--out", metavar="DIR", type=Path, required=True, help=f"gets all runs, and {RESULTS}")
    parser.add_argument("--updates", type=int, default=1400, metavar="N", help="of every model (default: 1400)")
    parser.add_argument("--teachers", type=int, default=2, metavar="N", help="wngt2019: of each kind (default: 2)")
    parser.add_argument("--beam-size", type=int, default=4, metavar="N", help="of the judged translations (default: 4)")
    parser.add_argument("--try", action="store_true", dest="tiny", help="the smallest models, to try the command")
    parser.add_argument("--train", default="", metavar="'OPTION N ...'", help="further options of every `train`")
    parser.set_defaults(run=lambda given: run(given, main))


def run(given, main: Main):
    """Trains, judges, and writes the table."""
    if (given.source, given.target) != ("en", "de"):
        raise ValueError(f"experiments are from en to de, not from {given.source} to {given.target}")
    table = TABLES[given.table]
    given.out.mkdir(parents=True, exist_ok=True)
    steps = Steps(main, given.out.resolve(), given.data, given.corpora, given.vocabulary)
    settings = {"updates": given.updates, "validate_every": max(1, given.updates // 7), "patience": given.updates}
    settings |= table.SETTINGS
    options = [word for name, value in settings.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    trained = [*options, *given.train.split()]  # later ones count
    shapes = table.TINY if given.tiny else table.SHAPES
    rows = table.train(steps, shapes, *([given.teachers] if table is dual_learning else []), trained)
    corpora = read_corpora(given.corpora, "test", "en", "de", given.data)
    judged = [_judged(row, corpora, given.beam_size) for row in rows]
    results = {"table": given.table, "options": trained, "beam_size": given.beam_size, "rows": judged}
    write_file(given.out / RESULTS, (json.dumps(results, indent=1) + "\n").encode())
    _show(judged)


def _judged(row: Row, corpora, beam_size) -> dict:
    """Returns the scores of a row, and the training of its first model."""
    scores = validate(row.models, corpora, beam_size)
    last = curve.lines(row.models[0].parent)[-1]
    return {
        "name": row.name,
        "models": [str(model) for model in row.models],
        "paper": row.paper,
        "bleu": {name: round(score.bleu, 2) for name, score in scores.items()},
        "chrf": {name: round(score.chrf, 2) for name, score in scores.items()},
        "updates": last["update"],
        "seconds": last["seconds"],
        "pieces_per_second": last["tokens_per_second"],
    }


def _show(rows):
    names = list(rows[0]["bleu"])
    print(f"\n{'BLEU':40}{'paper':>7}" + "".join(f"{name:>14}" for name in names) + f"{'pieces/s':>10}")
    for row in rows:
        scores = "".join(f"{row['bleu'][name]:14.2f}" for name in names)
        print(f"{row['name']:40}{row['paper']:7.1f}{scores}{row['pieces_per_second']:10}")
