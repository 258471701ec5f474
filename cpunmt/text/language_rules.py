"""A language's rules for a point: its abbreviations, ordinal numbers and first words of sentences."""

import dataclasses
import functools

from cpunmt.text.abbreviations import COMMON, LANGUAGES, ORDINALS, SAME
from cpunmt.text.languages.codes import first_part

ALWAYS, UNLESS, NUMBERS, UNITS = range(4)
_KINDS = {"always": ALWAYS, "unless": UNLESS, "numbers": NUMBERS, "units": UNITS}


@dataclasses.dataclass(frozen=True)
class Rules:
    """The rules of a language for the words around a point.

    Attributes
    ----------
    kinds : of each abbreviation, without its last point: ALWAYS, UNLESS, NUMBERS or UNITS
    capitals : the same for texts in capitals; keys are in lower case
    starters : words, in lower case, that begin a sentence after initials, numbers and UNLESS abbreviations
    ordinals : whether a number with a point is an ordinal number
    before_ordinals : words that mark an ordinal number
    language : its code, without a region; None: not known
    """

    kinds: dict[str, int]
    capitals: dict[str, int]
    starters: frozenset[str]
    ordinals: bool
    before_ordinals: frozenset[str]
    language: str | None


def rules(language: str | None) -> Rules:
    """Returns the rules of a language by its ISO 639 code ("de", "pt-BR", "zh_Hant"), or the common rules if not
    listed."""
    code = first_part(language or "") or None
    code = SAME.get(code or "", code)
    return _rules(code if code in LANGUAGES or code in ORDINALS.split() else code and "")


@functools.cache
def _rules(code: str | None) -> Rules:
    own = LANGUAGES.get(code or "", {})
    kinds: dict[str, int] = {}
    for listed in (COMMON, own):
        for name, kind in _KINDS.items():
            for word in listed.get(name, "").split():
                kinds.update(dict.fromkeys(_forms(word), kind))
    starters = LANGUAGES["en"]["starters"] if code is None else own.get("starters", "")
    return Rules(
        kinds,
        {word.lower(): kind for word, kind in kinds.items()},
        frozenset(starters.split()),
        code in ORDINALS.split(),
        frozenset(own.get("before_ordinals", "").split()),
        code,
    )


def _forms(word: str) -> set[str]:
    if word.startswith("="):
        return {word[1:]}
    if len(word) == 1:
        return {word}  # in capitals it is an initial
    forms = {word, word[:1].upper() + word[1:]}
    return forms | {word.lower()} if "." in word else forms
