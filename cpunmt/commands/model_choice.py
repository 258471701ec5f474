"""The choice of a command's model: the named one, one for two languages, or the default; or several, an ensemble."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cpunmt.errors import CpunmtError
from cpunmt.files.console import say
from cpunmt.files.input_files import METADATA, read_json
from cpunmt.formats.any_directory import read_metadata
from cpunmt.options.arguments import MOST_MODELS
from cpunmt.options.options import GROUPS
from cpunmt.registry.misspelt import published
from cpunmt.registry.store import Installed, installed, languages_of, located, models_folder
from cpunmt.text.languages.codes import NAMES, base_of, named_code, plain, preferred
from cpunmt.values.checks import shown
from cpunmt.values.command_line import Parser

SHIPPED = Path(__file__).resolve().parents[2] / "models" / "ende"  # of a checkout; a wheel has no model
_SHOWN = 6  # models of a message
GET_ONE = (
    "`cpunmt fetch firefox:ende` or `cpunmt fetch hf:Helsinki-NLP/opus-mt-en-de` gets one (`cpunmt ls` lists them), "
    "then name it, as in -m firefox:ende; or give the directory of a model of Bergamot, Marian, OPUS-MT, Hugging Face, "
    "CTranslate2 or Argos with -m DIR (`cpunmt convert DIR OUT` makes it load faster). CPUNMT_MODEL names one for all "
    "commands"
)


class Candidate(NamedTuple):
    """A model to choose from: its name or path, and the codes of its languages."""

    name: str
    sources: list[str]
    targets: list[str]


def model_of(named: str | None, source: str | None = None, target: str | None = None) -> Path:
    """Returns the model's path: named by -m, else for two languages, else the default.

    Raises CpunmtError without a model; the message says how to get one.
    """
    if named is None and source is not None and target is not None:
        named = _between(source, target)
    return located(_default() if named is None else named)


def paths_of(first: Path, given: argparse.Namespace) -> list[Path]:
    """Returns the paths of the first model and of the models in --ensemble. Raises CpunmtError as `located`."""
    return [first, *map(located, given.ensemble)]


def translator_arguments(given: argparse.Namespace) -> dict[str, Any]:
    """Returns the Translator's arguments on the command line."""
    first = model_of(given.model, given.source_lang, given.target_lang)
    return {"model_path": paths_of(first, given), "weights": given.weights, "inter_threads": given.inter_threads}


def check_weights(given: argparse.Namespace) -> None:
    """Ends with a usage error if there are weights that do not fit the models."""
    if given.weights is None:
        return
    from cpunmt.decoding.ensemble import checked_weights  # not needed for one model

    try:
        checked_weights(given.weights, 1 + len(given.ensemble))
    except ValueError as error:
        given.parser.error(str(error))


def _names(text: str) -> list[str]:
    found = text.split(",")
    if not all(found):
        raise argparse.ArgumentTypeError(f"{text!r} has a comma with no model beside it, expected DIR or DIR,DIR")
    if len(found) >= MOST_MODELS:
        raise argparse.ArgumentTypeError(f"{len(found)} models are named, expected at most {MOST_MODELS - 1}")
    return found


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}, expected numbers with commas between, such as 2,1") from None


def add_ensemble(parser: Parser) -> None:
    group = parser.group(GROUPS["ensembles"])
    group.add_argument(
        "--ensemble",
        metavar="DIR,...",
        type=_names,
        default=[],
        help="models that translate each sentence together with that one: all have the same vocabularies",
    )
    group.add_argument(
        "--weights",
        metavar="N,...",
        type=_numbers,
        help="the weight of each of these models, that one's first; only their ratio counts (default: all the same)",
    )


def add_model(parser: Parser, threads: bool = True) -> None:
    """Adds the arguments that choose the model; `threads`: also the number of batches translated in parallel."""
    parser.group(GROUPS["model"]).add_argument(
        "-m",
        "--model",
        metavar="DIR",
        help="model directory, a file in it, or the name of a fetched model such as firefox:ende (default: "
        "$CPUNMT_MODEL, else models/ende of a checkout)",
    )
    for title in GROUPS.values():
        parser.group(title)
    add_ensemble(parser)
    if not threads:
        return
    parser.group(GROUPS["batching"]).add_argument(
        "--inter-threads",
        "--cpu-threads",
        metavar="N",
        type=int,
        default=1,
        help="translate N batches side by side, each on one core; the output is the same (default: 1)",
    )


def default_model() -> str | None:
    """Returns the environment's model, or a checkout's; None if there is neither."""
    return os.environ.get("CPUNMT_MODEL") or (str(SHIPPED) if SHIPPED.is_dir() else None)


def _default() -> str:
    """Returns the default model. Raises CpunmtError if there is none."""
    chosen = default_model()
    if chosen:
        return chosen
    there = [model.name for model in installed()]
    if there:
        raise CpunmtError(f"no model is named; name one with -m or in CPUNMT_MODEL: there is {_listed(there)}")
    raise CpunmtError(f"no model is named, and none is installed: {GET_ONE}")


def models_between(source: str, target: str, candidates: Iterable[Candidate]) -> list[str]:
    """Returns the names of the models that translate from one language to the other, in order, but models of several
    target languages after those of one."""
    of_one: list[str] = []
    of_several: list[str] = []
    pair = [_spellings([named_code(language)]) for language in (source, target)]
    for name, sources, targets in candidates:
        if all(map(set.intersection, pair, (_spellings(sources), _spellings(targets)))):
            (of_one if len(targets) == 1 else of_several).append(name)
    return of_one + of_several


def _between(source: str, target: str) -> str:
    """Returns the name of a model that translates from one language to the other; of several the first, with a notice.

    The order: CPUNMT_MODEL, Firefox's, OPUS-MT's, Hugging Face's, Argos', the checkout's; of each the newest version
    (without @) first, then by name. Models of several target languages follow those of one.
    """
    found = sorted(
        models_between(source, target, _candidates()), key=lambda name: name != os.environ.get("CPUNMT_MODEL")
    )
    if not found:
        codes = [named_code(language) for language in (source, target)]
        unknown = " or ".join(shown(code) for code in codes if base_of(code) not in NAMES)
        name = published("-".join(codes)) or ""
        fetch = f", `cpunmt fetch {name}` fetches Firefox's" if name.startswith("firefox:") and not unknown else ""
        raise CpunmtError(
            f"no model in {models_folder()} translates {source} to {target}"
            + (f" (no language is known as {unknown})" if unknown else "")
            + f"; `cpunmt ls '{' > '.join(codes)}'` lists models that can be fetched{fetch}"
        )
    if len(found) > 1 and found[0] != os.environ.get("CPUNMT_MODEL"):
        say(f"cpunmt: {source} to {target} with {found[0]}; others, for -m: {_listed(found[1:])}")
    return found[0]


def pairs_here() -> str:
    """Returns the languages of the models here, for the middle of a message; "" if there are none."""
    pairs = dict.fromkeys(f"{'+'.join(one.sources)} > {'+'.join(one.targets)}" for one in _candidates())
    return f" (here {_listed(list(pairs))})" if pairs else ""


def _spellings(codes: Sequence[str]) -> set[str]:
    return {spelling for code in codes for spelling in (plain(code), preferred(code))}


def candidate(name: str, languages: tuple[str, str] | None) -> Candidate | None:
    """Returns a candidate; `languages`: source and target, several joined by "+"."""
    return Candidate(name, *([plain(part) for part in one.split("+")] for one in languages)) if languages else None


def fetched_models() -> list[Installed]:
    """Returns the fetched models in the order of preference."""
    ranks = {"firefox": 0, "opus": 1, "hf": 2, "argos": 3}
    return sorted(installed(), key=lambda model: (ranks[model.name.partition(":")[0]], "@" in model.name, model.name))


def _candidates() -> Iterator[Candidate]:
    """Yields the models here, in the order of preference."""
    known = [(model.name, model.metadata) for model in fetched_models()]
    with contextlib.suppress(CpunmtError):  # wheels bring no model
        known.append((str(SHIPPED), read_json(SHIPPED / METADATA, "model metadata")))
    if chosen := os.environ.get("CPUNMT_MODEL"):
        with contextlib.suppress(CpunmtError):  # other programs' models do not state their languages
            known.insert(0, (chosen, read_metadata(located(chosen))))
    for name, metadata in known:
        if made := candidate(name, languages_of(metadata)):
            yield made


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
