"""Fields of `Options`, each with its allowed values and its check."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any

from cpunmt.process.first_use import LOCK
from cpunmt.text.units import NAMES
from cpunmt.values import fields
from cpunmt.values.checks import as_key, choice


def option(
    default: Any,
    text: str,
    low: float | None = None,
    high: float | None = None,
    choices: Collection[str] | None = None,
    alone: object = None,
    read: Callable[[Any], object] | str | None = None,
    takes: str | None = None,
    is_served: bool = False,
    needs: tuple[str, object, str] | None = None,
    alias: str = "",
    meant: str = "",
    marian: Mapping[str, object] | None = None,
    group: str = "search",
    python: str = "",
) -> Any:
    """Declares an option, a field of Options. Without a range it is yes or no.

    `group`: the key of its group in GROUPS of `options`. `python`: what only Python's value may be, or what concerns
    only Python's results; it follows `text` in the documentation, and the command line leaves it out.
    `alone`: value of its flag when no value follows. `read`: converts a value outside `choices`, or raises; a function,
    or the name of one in this folder, which is imported when the option is given. `takes`: describes the flag's value
    in a word. `is_served`: a server's client may set it: it costs no more than a beam, and names neither files nor
    functions. `needs`: an option without which this one has no effect, its value when it is off, and advice.

    Names elsewhere: `alias` is CTranslate2's, which calls take too. `meant` are those of transformers, Marian and
    fairseq, refused with a hint, because their values may mean something else. `marian`: flags of Marian's command,
    each with the value that it sets, or None if the value follows.
    """
    about: dict[str, Any] = {
        "help": text,
        "low": low,
        "high": high,
        "choices": choices,
        "alone": alone,
        "read": read,
        "takes": takes,
        "is_served": is_served,
        "needs": needs,
        "alias": alias,
        "meant": meant.split(),
        "marian": marian or {},
        "group": group,
        "python": python,
    }
    if isinstance(read, str):
        return fields.checked(_imported(*read.rsplit(".", 1)), default, **about)
    if read:
        return fields.checked(lambda name, value: read(value), default, **about)
    if choices:
        return fields.checked(partial(choice, choices=choices), default, **about)
    if low is None or high is None:
        return fields.switch(default, **about)
    return fields.ranged(default=default, **about)


def _imported(module: str, function: str) -> Callable[[str, Any], object]:
    def check(_: str, value: Any) -> object:
        with LOCK:  # most calls do not need this import
            found = importlib.import_module(f"cpunmt.options.{module}")
        return getattr(found, function)(value)

    return check


def split_function(value: object) -> object:
    """Validates `split`: a function, or one of its names."""
    return as_key(value) if callable(value) else choice("split", value, NAMES)


def protected_kinds(value: object) -> object:
    """Validates and normalizes `protect`."""
    if isinstance(value, str) and value in ("all", "none"):
        return str(value)
    with LOCK:  # most calls do not need this import
        from cpunmt.options.protect_option import protected
    return protected(value)


def described(option: dataclasses.Field[Any]) -> str:
    """Returns the whole text of an option, with the part for Python."""
    rule = option.metadata
    return f"{rule['help']}; {rule['python']}" if rule["python"] else str(rule["help"])


def kind(option: dataclasses.Field[Any]) -> type:
    """Returns the type of an option on the command line: int, float, str or bool."""
    rule = option.metadata
    if rule["choices"] or rule["read"]:
        return str
    return bool if rule["high"] is None else type(rule["high"])
