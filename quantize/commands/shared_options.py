"""Options of commands, defined by their help and checked by their types; and options that commands share."""

import argparse
import inspect
import re
from collections.abc import Callable
from typing import Any

from quantize.evaluation.evaluation_set import EvaluationSet, named_set, read_evaluation_set
from quantize.evaluation.gate import parse_gate, refuse_unjudged

LIMITS = (
    "Test sets are judged by sacrebleu: pip install 'cpunmt[report]'. Limits: bleu, chrf (points lost at most), "
    "agreement, tokens (shares from 0 to 1, at least), size (of the weights, against float32, at most), sqnr (dB, at "
    "least, of each layer); NAME@SET=LIMIT is for one test set."
)

_VOCABULARIES = """
--vocab FILE         SentencePiece model, or table of words (.yml, .json), of both languages{use}
--source-vocab FILE  SentencePiece model, or table of words (.yml, .json), of the source language
--target-vocab FILE  SentencePiece model, or table of words (.yml, .json), of the target language
"""
_GATE = """
--test [NAME=]FILE...  a test set: lines of source TAB reference, several references if there are, or sources alone; may
                       be packed (.gz, .zst); may be given several times
--gate LIMITS          limits to keep, such as bleu=0.3,agreement=0.9
"""
_LANGUAGES = """
--from LANGUAGE  the language of the texts, for a model of many languages: a code or a name
--to LANGUAGE    the language of their translations, likewise
"""
# name, metavar and help; an indented line continues it
_OPTION = re.compile(r"(\S+)(?: (\S+))?(?:  +|\n +)(.+)", re.DOTALL)
_DEFAULT = re.compile(r"\(default: (\d[\d.]*)")

Kind = Callable[[str], Any]


def add_options(parser: argparse._ActionsContainer, text: str, /, **settings: Any) -> None:
    """Adds the options in a help text, one a line: `--count N  how many clusters (default: 300)`.

    A name without dashes is a required argument, an option without a metavar a flag. One whose metavar ends with "..."
    may be repeated. A numeric default is read from the help.

    Parameters
    ----------
    settings : for an option of that name (`_` for `-`) its type, or a dictionary of arguments of `add_argument`
    """
    for entry in re.split(r"\n(?=\S)", inspect.cleandoc(text)):
        found = _OPTION.fullmatch(entry)
        assert found, entry
        name, metavar, told = found.groups()
        chosen = settings.get(name.lstrip("-").replace("-", "_"), {})
        chosen = {"type": chosen} if callable(chosen) else dict(chosen)
        default = _DEFAULT.search(told)
        if metavar is None and name.startswith("-"):
            chosen = {"action": "store_true", **chosen}
        elif metavar and metavar.endswith("..."):
            chosen = {"action": "append", "default": [], "metavar": metavar[:-3], **chosen}
        elif metavar:
            chosen = {"metavar": metavar, "default": default and default[1].rstrip("."), **chosen}
        parser.add_argument(name, help=" ".join(told.split()), **chosen)


def parsed(parse: Kind) -> Kind:
    """Returns an argument's type: the result of `parse`, whose ValueErrors become the message."""

    def checked(text: str) -> Any:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return checked


def number(kind: type, fits: Callable[[Any], bool], expected: str) -> Kind:
    """Returns an argument's type: a number that fits; for any other text, the message is "it is not EXPECTED"."""

    def checked(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not fits(value):
            raise argparse.ArgumentTypeError(f"{text!r} is not {expected}")
        return value

    return checked


def whole(low: int, high: int) -> Kind:
    """Returns an argument's type: a whole number of this range."""
    return number(int, lambda value: low <= value <= high, f"a number from {low} to {high}")


def add_vocabularies(parser: argparse.ArgumentParser, use: str = "") -> None:
    """Adds --vocab, and --source-vocab and --target-vocab; `use` extends the help of the first."""
    add_options(parser, _VOCABULARIES.format(use=use))


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


def add_languages(parser: argparse._ActionsContainer) -> None:
    """Adds --from and --to: the direction of the command's texts."""
    add_options(parser, _LANGUAGES)


def languages_of(given: argparse.Namespace) -> tuple[str | None, str | None]:
    """Returns --from and --to."""
    return getattr(given, "from"), given.to


def add_gate_options(parser: argparse.ArgumentParser) -> None:
    """Adds --test and --gate: test sets, and limits that a model must keep on them."""
    add_options(parser, _GATE, test=parsed(named_set), gate={"type": parsed(parse_gate), "default": []})


def given_sets(given: argparse.Namespace) -> list[EvaluationSet]:
    """Reads the test sets.

    Raises CpunmtError for a broken set, and for limits that the sets cannot judge.
    """
    sets = [read_evaluation_set(name, path) for name, path in given.test]
    names = [one.name for one in sets]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        given.parser.error(f"--test: two sets are called {twice!r}; give other names, as NAME=FILE")
    refuse_unjudged(given.gate, sets)
    return sets
