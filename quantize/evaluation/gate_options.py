"""Options that `pack` and `report` share: test sets, and limits that a model must keep on them."""

import argparse

from quantize.evaluation.evaluation_set import EvaluationSet, named_set, read_evaluation_set
from quantize.evaluation.gate import parse_gate, refuse_unjudged

LIMITS = (
    "Test sets are judged by sacrebleu: pip install 'cpunmt[report]'. Limits: bleu, chrf (points lost at most), "
    "agreement, tokens (shares from 0 to 1, at least), size (of the weights, against float32, at most), sqnr (dB, at "
    "least, of each layer); NAME@SET=LIMIT is for one test set."
)


def add_gate_options(parser: argparse.ArgumentParser):
    """Add --test and --gate."""
    parser.add_argument(
        "--test",
        type=_parsed(named_set),
        action="append",
        default=[],
        metavar="[NAME=]FILE",
        help="a test set: lines of source TAB reference, several references if there are, or sources alone; may be "
        "gzipped; may be given several times",
    )
    parser.add_argument(
        "--gate",
        type=_parsed(parse_gate),
        default=[],
        metavar="LIMITS",
        help="limits to keep, such as bleu=0.3,agreement=0.9",
    )


def given_sets(given: argparse.Namespace) -> list[EvaluationSet]:
    """The test sets, read; raises CpunmtError for one that is broken, and for limits that they cannot judge."""
    sets = [read_evaluation_set(name, path) for name, path in given.test]
    names = [one.name for one in sets]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        given.parser.error(f"--test: two sets are called {twice!r}; give other names, as NAME=FILE")
    refuse_unjudged(given.gate, sets)
    return sets


def _parsed(parse):
    def parsed(text):
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return parsed
