"""Options that commands share, and kinds of their values."""

import argparse
from collections.abc import Callable

from quantize.evaluation.evaluation_set import EvaluationSet, named_set, read_evaluation_set
from quantize.evaluation.gate import parse_gate, refuse_unjudged

LIMITS = (
    "Test sets are judged by sacrebleu: pip install 'cpunmt[report]'. Limits: bleu, chrf (points lost at most), "
    "agreement, tokens (shares from 0 to 1, at least), size (of the weights, against float32, at most), sqnr (dB, at "
    "least, of each layer); NAME@SET=LIMIT is for one test set."
)


def parsed(parse: Callable) -> Callable:
    """Returns an argument's type: the result of `parse`, whose ValueErrors become the message."""

    def checked(text):
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return checked


def number(kind: type, fits: Callable[[float], bool], expected: str) -> Callable:
    """Returns an argument's type: a number that fits; for any other text, the message is "it is not EXPECTED"."""

    def checked(text):
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not fits(value):
            raise argparse.ArgumentTypeError(f"{text!r} is not {expected}")
        return value

    return checked


def whole(low: int, high: int) -> Callable:
    """Returns an argument's type: a whole number of this range."""
    return number(int, lambda value: low <= value <= high, f"a number from {low} to {high}")


def add_vocabularies(parser: argparse.ArgumentParser, use: str = ""):
    """Add --vocab, and --source-vocab and --target-vocab; `use` says more of the first."""
    kinds = "SentencePiece model, or table of words (.yml, .json)"
    parser.add_argument("--vocab", metavar="FILE", help=f"{kinds}, of both languages{use}")
    parser.add_argument("--source-vocab", metavar="FILE", help=f"{kinds}, of the source language")
    parser.add_argument("--target-vocab", metavar="FILE", help=f"{kinds}, of the target language")


def wrong_vocabularies(given: argparse.Namespace) -> str | None:
    """Returns a message on missing or contradictory vocabularies, or None."""
    if (given.source_vocab is None) != (given.target_vocab is None):
        return "--source-vocab and --target-vocab belong together; a joint vocabulary is --vocab"
    if given.vocab and given.source_vocab:
        return "--vocab is a joint vocabulary: give it or --source-vocab and --target-vocab"
    if not (given.vocab or given.source_vocab):
        return "a vocabulary is needed: --vocab FILE, or --source-vocab FILE and --target-vocab FILE"
    return None


def vocabulary_paths(given: argparse.Namespace) -> list[str]:
    """Returns one path for both languages, or the path of each."""
    return [given.vocab] if given.vocab else [given.source_vocab, given.target_vocab]


def add_gate_options(parser: argparse.ArgumentParser):
    """Add --test and --gate: test sets, and limits that a model must keep on them."""
    parser.add_argument(
        "--test",
        type=parsed(named_set),
        action="append",
        default=[],
        metavar="[NAME=]FILE",
        help="a test set: lines of source TAB reference, several references if there are, or sources alone; may be "
        "packed (.gz, .zst); may be given several times",
    )
    parser.add_argument(
        "--gate",
        type=parsed(parse_gate),
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
