"""Checks numbers, switches and choices from callers, and returns Python's own int, float, bool or str.

Sizes of memory are computed from these values and compiled code relies on them; a NumPy number could overflow. So
every value from outside passes through these functions, and only their results are used.
"""

import dataclasses
import decimal
import numbers
import operator
import reprlib
from collections.abc import Callable, Collection
from typing import Any, TypeVar

import numpy as np

from cpunmt.errors import ModelFileError
from cpunmt.values.spelling import CLOSELY, did_you_mean

_Kind = TypeVar("_Kind")


def whole(name: str, value: object, low: int, high: int) -> int:
    """Returns `value` as an int. Raises TypeError unless it is an integer of any type, ValueError outside `low` to
    `high`."""
    try:
        if isinstance(value, bool) or not isinstance(value, numbers.Integral):
            raise TypeError
        found = operator.index(value)  # TypeError: a time span of NumPy's, which calls itself an integer
    except TypeError:
        raise TypeError(f"{name} is {shown(value)}, expected an integer") from None
    if not low <= found <= high:
        raise ValueError(f"{name} is {shown(value)}, expected {low} to {high}")
    return found


def number(name: str, value: object, low: float, high: float) -> float:
    """Returns `value` as a float. Raises TypeError unless it is a real number of any type, ValueError outside the
    range."""
    try:
        if isinstance(value, bool | np.timedelta64) or not isinstance(value, numbers.Real | decimal.Decimal):
            raise TypeError
        found = float(value)
    except TypeError:
        raise TypeError(f"{name} is {shown(value)}, expected a number") from None
    except (ValueError, ArithmeticError):  # too large for a float; a Decimal that is a signalling NaN
        found = float("nan")
    if not low <= found <= high:
        raise ValueError(f"{name} is {shown(value)}, expected {low} to {high}")
    return found


def switch(name: str, value: object) -> bool:
    """Returns `value` as a bool. Raises TypeError unless it is Python's or NumPy's."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} is {shown(value)}, expected True or False")
    return bool(value)


def as_key(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns an equivalent function that can be a key of a dict, even if the object compares equal to others."""
    try:
        hash(function)
    except TypeError:
        bound: Callable[..., Any] = function.__call__  # type: ignore[operator]
        return bound  # a bound method, hashed by the object's identity
    return function


def choice(name: str, value: object, choices: Collection[str]) -> str:
    """Returns the member of `choices` that equals `value`. Raises TypeError unless it is text, ValueError without a
    match."""
    expected = " or ".join(map(repr, choices)) if len(choices) == 2 else f"one of {', '.join(map(repr, choices))}"
    if not isinstance(value, str):
        raise TypeError(f"{name} is {shown(value)}, expected {expected}")
    for one in choices:
        if one == value:
            return one
    raise ValueError(f"{name} is {shown(value)}, expected {expected}{did_you_mean(value, choices, CLOSELY)}")


def same(value: object, expected: object) -> bool:
    """Returns whether `value` is `expected` (None, text, a switch, a number or a list of these) in any numeric type."""
    try:
        if isinstance(expected, list):
            return isinstance(value, list | tuple) and len(value) == len(expected) and all(map(same, value, expected))
        if isinstance(expected, bool):
            return switch("", value) is expected
        if isinstance(expected, int | float):
            return number("", value, expected, expected) == expected
        return value is expected if expected is None else isinstance(value, str) and value == expected
    except (TypeError, ValueError):
        return False


def inner(document: object, *keys: str, kind: type[_Kind]) -> _Kind | None:
    """Returns the value at the end of a path of keys if it has that type, else None."""
    for key in keys:
        document = document.get(key) if isinstance(document, dict) else None
    return document if isinstance(document, kind) else None


def shown(value: object) -> str:
    """Returns the shortened `repr` of a value for a message, or its type if `repr` fails."""
    try:
        text = repr(value) if isinstance(value, str | int | float) else reprlib.repr(value)
    except Exception:  # an integer of 5,000 digits; any error in a foreign __repr__
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= 100 else f"{text[:97]}..."


def check_field(field: dataclasses.Field[Any], value: object) -> Any:
    """Returns `value` converted to the field's type. Raises TypeError or ValueError, naming the field, if it does not
    fit. The default itself is right."""
    if value is field.default:
        return value
    return field.metadata["check"](field.name, value)


def check_fields(of: Any) -> None:
    """Checks every declared field of a frozen dataclass, and converts its value to Python's own type.

    Raises TypeError or ValueError, which names the field.
    """
    for field in dataclasses.fields(of):
        if "check" in field.metadata:
            object.__setattr__(of, field.name, check_field(field, getattr(of, field.name)))


def check_config(config: Any) -> None:
    """Calls `check_fields` for values from a file: raises ModelFileError."""
    try:
        check_fields(config)
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"config: {error}") from None
