"""Suggests the known name that was probably meant by an unknown one."""

from collections.abc import Collection

from cpunmt.process.first_use import LOCK

ALIKE = 0.6  # twice the common letters over the letters of both names; bem_size and beam_size have 0.94
CLOSELY = 0.8  # for names that mean different things one letter apart: int8 and int9
_LONGEST = 100  # letters of a name that is compared: the time grows with the product of both lengths


def nearest(word: str, known: Collection[str], alike: float = ALIKE) -> str | None:
    """Returns the one of `known` that `word` most likely means, in any case, cut short or misspelt; None if none is
    near.

    `alike`: the least similarity of the two, from 0 to 1.
    """
    if not isinstance(word, str) or not 2 < len(word) <= _LONGEST:
        return None
    names = {name.lower(): name for name in known if len(name) <= _LONGEST}
    word = word.lower()
    begun = [name for name in names if name.startswith(word)]
    if begun:
        return names[min(begun, key=len)]
    with LOCK:
        from difflib import get_close_matches  # 2 ms, spent only on a mistake
    found = get_close_matches(word, names, 1, alike)
    return names[found[0]] if found else None


def did_you_mean(word: str, known: Collection[str], alike: float = ALIKE) -> str:
    """Returns the `hint` at that name for a message, or ""."""
    found = nearest(word, known, alike)
    return hint(found) if found != word else ""


def hint(meant: str | None) -> str:
    """Returns " (did you mean NAME?)" for the end of a message, or ""."""
    return f" (did you mean {meant}?)" if meant else ""
