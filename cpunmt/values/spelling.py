"""Which of the names there are someone means who wrote another one."""

from collections.abc import Collection

from cpunmt.process.first_use import LOCK

ALIKE = 0.6  # of two names: twice the letters in common by the letters of both; bem_size and beam_size have 0.94
CLOSELY = 0.8  # where names that are one letter apart mean something else: int8 and int9
_LONGEST = 100  # letters of a name that is compared: that takes the product of both lengths


def nearest(word: str, known: Collection[str], alike: float = ALIKE) -> str | None:
    """The one of `known` that `word` most likely means, in whatever case, cut short or misspelt; None if none is near.

    `alike`: the least likeness of the two, from 0 to 1.
    """
    if not isinstance(word, str) or not 2 < len(word) <= _LONGEST:
        return None
    names = {name.lower(): name for name in known if len(name) <= _LONGEST}
    word = word.lower()
    begun = [name for name in names if name.startswith(word)]
    if begun:
        return names[min(begun, key=len)]
    with LOCK:
        from difflib import get_close_matches  # 2 ms, which only a mistake costs
    found = get_close_matches(word, names, 1, alike)
    return names[found[0]] if found else None


def did_you_mean(word: str, known: Collection[str], alike: float = ALIKE) -> str:
    """The same for a message: `hint` of it, or nothing."""
    found = nearest(word, known, alike)
    return hint(found) if found != word else ""


def hint(meant: str | None) -> str:
    """What a message says behind something that is wrong: " (did you mean NAME?)", or nothing."""
    return f" (did you mean {meant}?)" if meant else ""
