"""Splits text into the words at which terms of a glossary may begin and end."""

from __future__ import annotations

import re
from functools import cache

from cpunmt.text.scripts import UNSPACED

# Signs that belong to the letter before them, which Python counts neither as letters nor as digits.
_SIGNS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u0711\u0730-\u074a\u07a6-\u07b0\u07eb-\u07f3\u0816-\u082d\u0859-\u085b"
    "\u08d3-\u0963\u0980-\u0df3\u1ab0-\u1aff\u1dc0-\u1dff\u200c\u200d\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f"
)
# Signs that stand on letters of scripts without spaces between words.
_UNSPACED_SIGNS = (
    "\u0e31\u0e33-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb3-\u0ebc\u0ec8-\u0ece\u0f71-\u0f84\u0f90-\u0fbc\u102b-\u103e"
    "\u1056-\u1059\u105e-\u1060\u1062-\u1064\u1067-\u106d\u1071-\u1074\u1082-\u108d\u17b4-\u17d3\u17dd"
    "\u3099\u309a\uff9e\uff9f"
)


@cache
def _tokens() -> re.Pattern[str]:
    """Compiles the pattern on first use: it takes 3 ms, and most runs have no glossary."""
    mark = f"[{_SIGNS}{_UNSPACED_SIGNS}]"
    word = f"(?:[^\\W{UNSPACED}]+|[{_SIGNS}]+)+(?:(?<=n)['\u2019]t\\b)?"
    return re.compile(f"{word}|\\s+|[{UNSPACED}]{mark}*|.", re.DOTALL)


def tokens(text: str) -> list[tuple[str, int, int]]:
    """Returns (token, begin, end) for all of `text`: words, white space, and each other character alone.

    A letter of a script without spaces is a word. "don't" is one word; of "dog's" only dog is one.
    """
    return [(match.group(), *match.span()) for match in _tokens().finditer(text)]


def token_texts(text: str) -> list[str]:
    """Returns the tokens alone, in a third of the time."""
    return _tokens().findall(text)


def is_word(token: str) -> bool:
    """Returns whether a token has a letter or digit, unlike white space, punctuation and symbols."""
    return any(map(str.isalnum, token))


def one_space(text: str) -> str:
    """Strips `text`, and replaces each inner run of white space by one space."""
    return " ".join(text.split())


def capitalised(text: str) -> str:
    """Returns `text` as it is written at the beginning of a sentence."""
    return text[:1].upper() + text[1:] if text[:1].islower() else text


def is_spaced(text: str) -> bool:
    """Returns whether the last character of `text` belongs to a script with spaces between words."""
    return not re.match(f"[{UNSPACED}]", text[-1:])
