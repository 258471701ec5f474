"""Finds the few characters of a text that matter to a layer, in a fraction of the time of a regular expression."""

from __future__ import annotations

import re

_DIGIT, _DIGITS = re.compile(r"\d"), re.compile(r"\d+")
_ASCII = bytes(range(128))
_NO_DIGITS = _ASCII.translate(None, b"0123456789")
_SPACED = bytes(code if 48 <= code < 58 else 32 for code in range(256))  # all but digits becomes spaces


def without(text: str, ascii_characters: bytes) -> str:
    """Returns `text` without some characters of ASCII, which takes a quarter of a microsecond for a sentence."""
    # in UTF-8 no byte of another character is one of ASCII
    return text.encode("utf-8", "surrogatepass").translate(None, ascii_characters).decode("utf-8", "surrogatepass")


def has_digits(text: str) -> bool:
    r"""Returns whether `text` has a digit of any script, as `\d` matches it."""
    found = without(text, _NO_DIGITS)
    return bool(found) and _DIGIT.search(found) is not None


def has_letters(text: str) -> bool:
    """Returns whether there is anything to translate."""
    return any(map(str.isalpha, text))


def digit_runs(text: str) -> list[bytes] | list[str]:
    """Finds the runs of digits in a text, as bytes if all digits are ASCII, else as text: these are never equal."""
    data = text.encode("utf-8", "surrogatepass")
    if len(data) > len(text) and _DIGIT.search(data.translate(None, _ASCII).decode("utf-8", "surrogatepass")):
        return _DIGITS.findall(text)
    return data.translate(_SPACED).split()
