"""Fields of a config, each declared with the values that it may have, and checked there and nowhere else.

@dataclass(frozen=True)
class Config:
    heads: int = count(high=256)

    def __post_init__(self):
        check_fields(self)
"""

import dataclasses
from collections.abc import Callable
from functools import partial

from cpunmt.errors import ModelFileError
from cpunmt.values import checks


def count(default=dataclasses.MISSING, low: int = 1, high: int = 1 << 16):
    """A whole number from `low` to `high`. Limits are ones that no real model reaches: a hostile header must not
    make us reserve memory."""
    return checked(partial(checks.whole, low=low, high=high), default)


def optional_count(low: int = 1, high: int = 1 << 16):
    """None, which is the default, or such a number."""
    return checked(lambda name, value: None if value is None else checks.whole(name, value, low, high), None)


def real(default: float, low: float, high: float):
    """A finite number from `low` to `high`."""
    return checked(partial(checks.number, low=low, high=high), default)


def switch(default: bool):
    """True or False."""
    return checked(checks.switch, default)


def choice(default: str, *others: str):
    """One of some words."""
    return checked(partial(checks.choice, choices=(default, *others)), default)


def checked(check: Callable[[str, object], object], default=dataclasses.MISSING):
    """A field whose value becomes `check(name, value)`, which raises TypeError or ValueError for a wrong one."""
    return dataclasses.field(default=default, metadata={"check": check})


def check_fields(config):
    """Check every declared field of a frozen dataclass, and make its value Python's own.

    Raises ModelFileError, which names the field: configs come from files.
    """
    for field in dataclasses.fields(config):
        check = field.metadata.get("check")
        if check is not None:
            try:
                object.__setattr__(config, field.name, check(field.name, getattr(config, field.name)))
            except (TypeError, ValueError) as error:
                raise ModelFileError(f"config: {error}") from None
