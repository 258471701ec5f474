"""Checks numbers, switches and choices from callers, and returns Python's own int, float, bool or str.

Sizes of memory are computed from these values and compiled code relies on them; a NumPy number could overflow. So
every value from outside passes through these functions, and only their results are used.
"""

import decimal
import numbers
import operator
import reprlib
from collections.abc import Callable, Collection

import numpy as np

from cpunmt.values.spelling import CLOSELY, did_you_mean


def whole(name: str, value, low: int, high: int) -> int:
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


def number(name: str, value, low: float, high: float) -> float:
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


def switch(name: str, value) -> bool:
    """Returns `value` as a bool. Raises TypeError unless it is Python's or NumPy's."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} is {shown(value)}, expected True or False")
    return bool(value)


def as_key(function: Callable) -> Callable:
    """Returns an equivalent function that can be a key of a dict, even if the object compares equal to others."""
    try:
        hash(function)
    except TypeError:
        return function.__call__  # a bound method, hashed by the object's identity
    return function


def choice(name: str, value, choices: Collection[str]) -> str:
    """Returns the member of `choices` that equals `value`. Raises TypeError unless it is text, ValueError without a
    match."""
    expected = " or ".join(map(repr, choices)) if len(choices) == 2 else f"one of {', '.join(map(repr, choices))}"
    if not isinstance(value, str):
        raise TypeError(f"{name} is {shown(value)}, expected {expected}")
    for one in choices:
        if one == value:
            return one
    raise ValueError(f"{name} is {shown(value)}, expected {expected}{did_you_mean(value, choices, CLOSELY)}")


def same(value, expected) -> bool:
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


def inner(document, *keys: str, kind: type):
    """Returns the value at the end of a path of keys if it has that type, else None."""
    for key in keys:
        document = document.get(key) if isinstance(document, dict) else None
    return document if isinstance(document, kind) else None


def shown(value) -> str:
    """Returns the shortened `repr` of a value for a message, or its type if `repr` fails."""
    try:
        text = repr(value) if isinstance(value, str | int | float) else reprlib.repr(value)
    except Exception:  # an integer of 5,000 digits; any error in a foreign __repr__
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= 100 else f"{text[:97]}..."
