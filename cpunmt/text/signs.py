"""Fast checks of a text, a few microseconds at most, which spare most sentences the work of a layer.

A text for which `is_plain` holds is one sentence. If `has_no_codes` holds too, nothing in it is protected.
"""

from __future__ import annotations

import re

_PLAIN = re.compile("[A-Za-z\u00c0-\u00d6][A-Za-z0-9 ,'\u00c0-\u00d6\u00d8-\u00f6-]+")
_CODES = re.compile("[0-9][0-9a-fA-F -]{5}|[0-9a-f]{7}|0x|[0-9a-fA-F]{4}-")  # dates, telephone numbers, hashes
_DIGIT, _DIGITS = re.compile(r"\d"), re.compile(r"\d+")
_ASCII = bytes(range(128))
_NO_DIGITS = _ASCII.translate(None, b"0123456789")
_SPACED = bytes(code if 48 <= code < 58 else 32 for code in range(256))  # all but digits becomes spaces


def without(text: str, ascii_characters: bytes) -> str:
    """Returns `text` without some ASCII characters, in a quarter of a microsecond for a sentence."""
    # in UTF-8 no byte of another character is one of ASCII
    return text.encode("utf-8", "surrogatepass").translate(None, ascii_characters).decode("utf-8", "surrogatepass")


def has_digits(text: str) -> bool:
    r"""Returns whether `text` has a digit of any script, as `\d` matches it."""
    found = without(text, _NO_DIGITS)
    return bool(found) and _DIGIT.search(found) is not None


def has_letters(text: str) -> bool:
    """Returns whether the text has letters to translate."""
    return any(map(str.isalpha, text))


def digit_runs(text: str) -> list[bytes] | list[str]:
    """Finds the runs of digits in a text, as bytes if all digits are ASCII, else as text: these are never equal."""
    data = text.encode("utf-8", "surrogatepass")
    if len(data) > len(text) and _DIGIT.search(data.translate(None, _ASCII).decode("utf-8", "surrogatepass")):
        return _DIGITS.findall(text)
    return data.translate(_SPACED).split()


def is_plain(text: str) -> bool:
    """Returns whether a text has only letters, digits, commas and hyphens, and at most a stop at its end.

    Most captions are such texts. The end is not a part of `_PLAIN`: the pattern would try all shorter beginnings.
    """
    found = _PLAIN.match(text)
    if found is None:
        return False
    end = found.end()
    if end < len(text) and (end < len(text) - 1 or text[end] not in ".!?"):
        return False
    return text[end - 1] not in " ,'-"


def has_no_codes(text: str) -> bool:
    """Returns whether a text `is_plain` and has nothing that looks like a date, a telephone number or a hash."""
    if not is_plain(text) or "--" in text:
        return False
    return not has_digits(text) or _CODES.search(text) is None
