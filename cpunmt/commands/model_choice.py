"""Which model a command uses: the one that is named, the one for two languages, or the default."""

import argparse
import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

from cpunmt.commands import ensembles
from cpunmt.errors import CpunmtError
from cpunmt.files.console import say
from cpunmt.files.input_files import read_json
from cpunmt.formats.any_directory import model_folder
from cpunmt.registry.store import METADATA, installed, languages_of, located, models_folder
from cpunmt.text.language_codes import plain

SHIPPED = Path(__file__).resolve().parents[2] / "models" / "ende-tiny"  # of a checkout; a wheel has no model
_SHOWN = 6  # models of a message
_GET_ONE = (
    "`cpunmt fetch firefox:ende` or `cpunmt fetch hf:Helsinki-NLP/opus-mt-en-de` gets one (`cpunmt ls` lists them), "
    "then name it, as in -m firefox:ende; or give the directory of a model of Bergamot, Marian, OPUS-MT or Hugging "
    "Face with -m DIR (`cpunmt convert DIR OUT` makes it load faster). CPUNMT_MODEL names one for all commands"
)


def model_of(named: str | None, source: str | None = None, target: str | None = None) -> Path:
    """The model's path: as -m says, or for two languages (both or neither), or the default.

    Raises CpunmtError if there is none; the message says how to get one.
    """
    if source is not None:
        named = _between(source, target)
    return located(_default() if named is None else named)


def language(text: str) -> str:
    """The code of a language, as --from and --to take it. Raises ArgumentTypeError for what is none."""
    if not re.fullmatch(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]+)*", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no code of a language, expected one such as en, de or pt-BR")
    return text


def add_model(parser, threads=True):
    """Add the arguments that say which model; `threads`: and how many batches are translated side by side."""
    parser.add_argument(
        "-m",
        "--model",
        metavar="DIR",
        help="model directory, a file in it, or the name of a fetched model such as firefox:ende (default: "
        "$CPUNMT_MODEL, else models/ende-tiny of a checkout)",
    )
    ensembles.add_arguments(parser)
    for flag, name in (("--from", "source_language"), ("--to", "target_language")):
        parser.add_argument(
            flag,
            dest=name,
            metavar="LANGUAGE",
            type=language,
            help="code of the language to translate from, as en; with --to chooses $CPUNMT_MODEL if it is for both, or "
            "a model that has been fetched: Firefox's before OPUS-MT's before Hugging Face's before a checkout's"
            if flag == "--from"
            else "code of the language to translate to",
        )
    if not threads:
        return
    parser.add_argument(
        "--inter-threads",
        "--cpu-threads",
        metavar="N",
        type=int,
        default=1,
        help="translate N batches side by side, each on one core; the output is the same (default: 1)",
    )


def _default() -> str:
    """The environment's model, or that of a checkout. Raises CpunmtError if there is neither."""
    chosen = os.environ.get("CPUNMT_MODEL")
    if chosen:
        return chosen
    if SHIPPED.is_dir():
        return str(SHIPPED)
    there = [model.name for model in installed()]
    if there:
        raise CpunmtError(f"no model is named; name one with -m or in CPUNMT_MODEL: there is {_listed(there)}")
    raise CpunmtError(f"no model is named, and none is installed: {_GET_ONE}")


def _between(source: str, target: str) -> str:
    """Returns the name of a model that translates from one language to the other; of several the first, with a notice.

    The order: CPUNMT_MODEL, Firefox's, OPUS-MT's, Hugging Face's, the checkout's; of each the newest version (without
    @) first, then by name. A model of several target languages is left out: each text would have to say which one is
    meant.
    """
    found, unclear = [], []
    for name, sources, targets in _candidates():
        if plain(source) in sources and plain(target) in targets:
            (found if len(targets) == 1 else unclear).append(name)
    if not found:
        several = f"; {_listed(unclear)} does among other languages, which each text must name" if unclear else ""
        raise CpunmtError(
            f"no model in {models_folder()} translates {source} to {target}{several}; `cpunmt ls '{source} > {target}'"
            f"` lists those that can be fetched, `cpunmt fetch firefox:{source}{target}` fetches Firefox's"
        )
    if len(found) > 1 and found[0] != os.environ.get("CPUNMT_MODEL"):
        say(f"cpunmt: {source} to {target} with {found[0]}; others, for -m: {_listed(found[1:])}")
    return found[0]


def _candidates() -> Iterator[tuple[str, list[str], list[str]]]:
    """(name or path, source languages, target languages) of the models that are there, in the order of preference."""
    ranks = {"firefox": 0, "opus": 1, "hf": 2}
    fetched = sorted(
        installed(), key=lambda model: (ranks[model.name.partition(":")[0]], "@" in model.name, model.name)
    )
    known = [(model.name, model.metadata) for model in fetched]
    with contextlib.suppress(CpunmtError):  # a wheel's user has none
        known.append((str(SHIPPED), read_json(SHIPPED / METADATA, "model metadata")))
    if chosen := os.environ.get("CPUNMT_MODEL"):
        with contextlib.suppress(CpunmtError):  # other programs' models do not tell their languages
            known.insert(0, (chosen, read_json(model_folder(located(chosen)) / METADATA, "model metadata")))
    for name, metadata in known:
        languages = languages_of(metadata)
        if languages:
            yield name, *([plain(part) for part in one.split("+")] for one in languages)


def _listed(names) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
