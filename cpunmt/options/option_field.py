"""Fields of `Options`, each with its allowed values and its check."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection
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
    read: Callable[[Any], object] | None = None,
    takes: str | None = None,
    is_served: bool = False,
) -> Any:
    """Declares an option, a field of Options. Without a range it is yes or no.

    `alone`: value of its flag when no value follows. `read`: converts a value outside `choices`, or
    raises. `takes`: describes the flag's value in a word. `is_served`: a client of a server may set it,
    because it costs no more than a beam, and names neither files nor functions.
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
    }
    if read:
        return fields.checked(lambda name, value: read(value), default, **about)
    if choices:
        return fields.checked(partial(choice, choices=choices), default, **about)
    if low is None or high is None:
        return fields.switch(default, **about)
    return fields.ranged(default=default, **about)


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


def element_roles(value: object) -> object:
    """Validates and normalizes `tags`."""
    with LOCK:
        from cpunmt.options.element_roles import element_roles
    return element_roles(value)


def suppressed_sequences(value: object) -> object:
    """Validates and normalizes `suppress_sequences`."""
    with LOCK:
        from cpunmt.options.suppressed_sequences import suppressed
    return suppressed(value)


def ending_tokens(value: object) -> object:
    """Validates and normalizes `end_token`."""
    with LOCK:
        from cpunmt.options.end_tokens import end_tokens
    return end_tokens(value)


def glossary_terms(value: object) -> object:
    """Validates and normalizes `glossary`."""
    with LOCK:
        from cpunmt.options.glossary.glossary import glossary_of
    return glossary_of(value)


def kind(option: dataclasses.Field[Any]) -> type:
    """Returns the type of an option on the command line: int, float, str or bool."""
    rule = option.metadata
    if rule["choices"] or rule["read"]:
        return str
    return bool if rule["high"] is None else type(rule["high"])
