"""Flags of the command line, generated from dataclasses: options, filters, settings."""

from __future__ import annotations

import argparse
import dataclasses
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from cpunmt.commands.flag_names import NAMED_OTHERWISE, flag_of, in_flags
from cpunmt.options.arguments import MOST_THREADS
from cpunmt.options.option_sets import OPTION_SETS, set_fields
from cpunmt.options.options import GROUPS, MARIAN_FLAGS, MEANT_FLAGS, Options, make_options
from cpunmt.results.alignments import alignment_kind
from cpunmt.values.checks import whole
from cpunmt.values.command_line import Parser

_CHOOSE = (
    "; without -m, --from and --to choose $CPUNMT_MODEL if it is for both, or a model that has been fetched: Firefox's "
    "before OPUS-MT's before Hugging Face's before Argos' before a checkout's"
)
_HELP = {
    "beam_size": "hypotheses kept at each step; 1 is greedy search (default: the model's, mostly 1, and at least the "
    "number of translations)"
}


def add_fields(parser: Parser, of: type, title: str = "") -> None:
    """Adds a flag for each field that has a `help`; to the group of its own, or else of `title`."""
    for field in dataclasses.fields(of):
        if "help" in field.metadata:
            group, flag = parser.group(field.metadata.get("group") or title), flag_of(field.name)
            group.add_argument(flag, dest=field.name, **_settings(field))
            if field.default is True:
                group.add_argument(f"--no-{flag[2:]}", dest=field.name, nargs=0, const=False, help=f"not {flag}")


def add_options(parser: Parser, names: Collection[str], help: Mapping[str, str] | None = None) -> None:
    """Adds a flag for each option, and Marian's spellings; skips options that affect only Python's results. Adds
    --options, a set of them.

    `help`: texts for options with another meaning in this command.
    """
    flags_of_names = {flag_of(name) for name in names}
    parser.meant = {theirs: ours for theirs, ours in MEANT_FLAGS.items() if ours in flags_of_names}
    parser.group(GROUPS["search"]).add_argument(
        "--options",
        choices=OPTION_SETS,
        help="a set of options, which other flags change; argos: the decoder's settings of argos-translate and "
        "LibreTranslate",
    )
    for name in names:
        group = parser.group(GROUPS[Options.__dataclass_fields__[name].metadata["group"]])
        option = Options.__dataclass_fields__[name]
        flags = [] if name.startswith("return_") and name not in NAMED_OTHERWISE else [flag_of(name)]
        flags += [flag for flag, (of, value) in MARIAN_FLAGS.items() if of == name and value is None]
        if not flags:
            continue
        settings = _settings(option)
        if name == "source_lang":
            settings["help"] += _CHOOSE
        text = {**_HELP, **(help or {})}.get(name, settings["help"])
        settings["help"] = _with_flags(text, flags_of_names)
        if name == "return_alignments":
            settings = {"help": settings["help"], "type": _alignment, "nargs": "?", "const": "hard"}
            settings["metavar"] = "hard|soft|THRESHOLD"
        group.add_argument(*sorted(flags, key=lambda flag: flag.startswith("--")), dest=name, **settings)
        if "const" in settings and option.default is None:  # may be given without a value
            group.add_argument(f"--no-{flags[0][2:]}", dest=name, nargs=0, const=False, help=f"not {flags[0]}")
    for flag, (name, value) in MARIAN_FLAGS.items():
        if value is not None and name in names:
            text = Options.__dataclass_fields__[name].metadata["help"] if value is True else ""
            text = text or f"the same as {flag_of(name)} {value}"
            group = parser.group(GROUPS[Options.__dataclass_fields__[name].metadata["group"]])
            group.add_argument(flag, dest=name, nargs=0, const=value, help=text)


def _with_flags(text: str, flags: Collection[str]) -> str:
    """Returns a text about options with the flags of the command in place of Python's names."""
    return re.sub(
        r"\b[a-z]+(?:_[a-z]+)+\b", lambda found: flag if (flag := flag_of(found[0])) in flags else found[0], text
    )


def _settings(field: dataclasses.Field[Any]) -> dict[str, Any]:
    """Returns the arguments of `add_argument` for a field."""
    rule = field.metadata
    settings: dict[str, Any] = {"help": rule["help"]}
    if rule.get("takes"):
        settings |= {"metavar": rule["takes"]}
    elif rule.get("choices"):
        return {**settings, "choices": rule["choices"]}
    elif rule.get("high") is None:
        return {**settings, "nargs": 0, "const": True}
    else:
        settings |= {"metavar": "N"}
    if rule.get("high") is not None:
        settings["type"] = type(rule["high"])
        if rule.get("alone") is not None:
            settings |= {"nargs": "?", "const": rule["alone"]}
    if not rule.get("read") and field.default not in (None, ""):
        default = f"{field.default:g}" if isinstance(field.default, float) else field.default
        settings["help"] += f" (default: {default})"
    return settings


def fields_of(given: argparse.Namespace, names: Iterable[str]) -> dict[str, Any]:
    """Returns the fields that the command line sets."""
    return {name: value for name in names if (value := getattr(given, name, None)) is not None}


def options_of(given: argparse.Namespace, names: Collection[str]) -> dict[str, Any]:
    """Returns the options that the command line sets by flags, or by the set in --options."""
    chosen = set_fields(given.options) if given.options is not None else {}
    return {**{name: value for name, value in chosen.items() if name in names}, **fields_of(given, names)}


def check_options(given: argparse.Namespace, options: Mapping[str, Any]) -> None:
    """Ends with a usage error unless the options are valid for some model."""
    from cpunmt.commands.model_choice import check_weights, pairs_here

    try:
        make_options({name: value for name, value in options.items() if name != "glossary"})
        whole("inter_threads", given.inter_threads, 1, MOST_THREADS)
    except ValueError as error:
        given.parser.error(in_flags(str(error)))
    if given.model is None and (given.source_lang is None) != (given.target_lang is None):
        given.parser.error(
            f"give both --from and --to, or neither: they choose a model{pairs_here()}; or name one with -m"
        )
    check_weights(given)


def checked_options(given: argparse.Namespace, names: Collection[str] = Options.__dataclass_fields__) -> dict[str, Any]:
    """Returns the options of a command line. Ends with a usage error as `check_options`."""
    options = options_of(given, names)
    check_options(given, options)
    return options


def _alignment(text: str) -> str | float:
    """Calls `alignment_kind`; argparse would not show the message of a ValueError."""
    try:
        return alignment_kind(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
