"""Compares a text with its translation, by characters and words alone."""

from __future__ import annotations

import re

from cpunmt.text.scripts import EAST_ASIAN

_SLACK = 15  # characters, added to both lengths: short texts differ more
_DENSE = 2  # further characters that an East Asian one counts for
_SLICE = 8  # characters
_LEAST_WORDS, _KEPT_SHARE = 3, 0.75  # of an echo
_EAST_ASIAN = re.compile(f"[{EAST_ASIAN}]+")
_WORD = re.compile(r"[^\W\d_]{3,}")


def text_length(text: str) -> int:
    """Returns the number of characters, of which East Asian ones count threefold: they say as much."""
    if text.isascii():
        return len(text)
    return len(text) + _DENSE * sum(map(len, _EAST_ASIAN.findall(text)))


def length_ratio(source: str, target: str, slack: int = _SLACK) -> float:
    """Returns how many times longer the longer text is. `slack`: characters added to both."""
    one, other = text_length(source) + slack, text_length(target) + slack
    return one / other if one > other else other / one


def lengths_fit(source: str, target: str, most: float) -> bool:
    """Returns whether `length_ratio` is at most `most`; in half a microsecond for most pairs."""
    (one, longest_one), (other, longest_other) = _bounds(source), _bounds(target)
    if longest_one <= most * other and longest_other <= most * one:
        return True
    return length_ratio(source, target) <= most


def _bounds(text: str) -> tuple[int, int]:
    """Returns limits of a text's length with slack: an East Asian character has three bytes, or four."""
    return len(text) + _SLACK, len(text.encode("utf-8", "surrogatepass")) + _SLACK


def is_echo(source: str, target: str) -> bool:
    """Returns whether a translation has most words of its source: at least three quarters, and three.

    Only words of three letters or more that do not begin with a capital are counted, because names stay in many
    translations.
    """
    middle = len(target) // 2
    first, last = middle // 2, middle + middle // 2
    if not (  # nearly always: three slices of the translation are not in the source
        target[middle : middle + _SLICE] in source
        or target[first : first + _SLICE] in source
        or target[last : last + _SLICE] in source
    ):
        return False
    words = [word for word in _WORD.findall(source) if not word[0].isupper()]
    if len(words) < _LEAST_WORDS:
        return False
    kept = {word.lower() for word in _WORD.findall(target)}
    return sum(word.lower() in kept for word in words) >= _KEPT_SHARE * len(words)
