"""Fields of dataclasses, each declared with its allowed values; `checks.check_fields` checks them all.

@dataclass(frozen=True)
class Config:
    heads: int = count(high=256)

    def __post_init__(self):
        check_fields(self)

None is allowed if it is the default. Other facts about a field (`about`) are in its metadata.
"""

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

from cpunmt.values import checks

MISSING = dataclasses.MISSING


def checked(check: Callable[[str, Any], object], default: Any = MISSING, **about: Any) -> Any:
    """Declares a field whose value becomes `check(name, value)`, which raises TypeError or ValueError for a wrong
    one."""
    return dataclasses.field(default=default, metadata={"check": check, **about})


def ranged(low: float, high: float, default: Any = MISSING, **about: Any) -> Any:
    """Declares a finite number from `low` to `high`; an integer if `high` is an int."""
    check: Callable[..., object] = checks.whole if isinstance(high, int) else checks.number
    return checked(partial(check, low=low, high=high), default, low=low, high=high, **about)


def count(default: Any = MISSING, low: int = 1, high: int = 1 << 16) -> Any:
    """Declares an integer from `low` to `high`.

    The limits exceed every real model: they bound the memory that a hostile header can reserve.
    """
    return ranged(low, high, default)


def switch(default: bool | None, **about: Any) -> Any:
    """Declares a field that is True or False."""
    return checked(checks.switch, default, **about)


def choice(default: str, *others: str) -> Any:
    """Declares a field that is one of some words."""
    return checked(partial(checks.choice, choices=(default, *others)), default)
