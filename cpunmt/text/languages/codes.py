"""Codes of languages in the spellings of people, clients and models, and the names of the languages."""

from __future__ import annotations

from collections.abc import Iterable

from cpunmt.text.languages.lists import MBART_50, NLLB_200
from cpunmt.text.languages.names import ENTRIES

_LISTED = [entry.split(" ", 1) for entry in ENTRIES.replace("\n", " ").split("; ")]
# Code -> its other spellings. Argos' zt and pb are LibreTranslate's; a code for Chinese without a script means the
# simplified one.
_ALIKE = (
    ("zh", "zh-hans", "zh-cn", "zh-sg", "zho", "cmn", "chi"),
    ("zt", "zh-hant", "zh-tw", "zh-hk", "zh-mo"),
    ("pb", "pt-br"),
    ("pt", "pt-pt", "por"),
    ("nb", "no", "nb-no", "nob", "nor"),
    ("he", "iw", "heb"),
    ("id", "in", "ind"),
    ("fil", "tl", "tgl"),
    *(tuple(codes.split("/")) for codes, _ in _LISTED if "/" in codes),
)
NAMES = {codes.partition("/")[0]: name for codes, name in _LISTED}
_CODE_OF_NAME = {name.lower(): code for code, name in NAMES.items()}
_ALIKE_OF = {code: alike for alike in _ALIKE for code in alike}
_FIRST = {code: alike[0] for code, alike in _ALIKE_OF.items()}
_LONGEST = 35  # characters of a code, by RFC 5646
_VARIANTS = {"zt": "zh", "pb": "pt"}
_BASES = {code: _VARIANTS.get(first, first) for code, first in _FIRST.items() if "-" not in code}
# The script that is meant where a code has none; of the other languages it is not known here.
_SCRIPTS = {_BASES.get(code[:3], code[:3]): code[4:].lower() for code in reversed(NLLB_200)}
_SCRIPTS |= {"ace": "latn", "bjn": "latn", "kr": "latn"}
_LOCALES = {code.lower().replace("_", "-") for code in MBART_50}  # in them the country is not a variant
_UNSPACED = {"ja", "zh", "yue", "wuu", "lzh"}


def plain(code: str) -> str:
    """Returns a code in small letters, with hyphens."""
    return code.strip().lower().replace("_", "-")


def named_code(language: str) -> str:
    """Returns the code of a language that is given by its code or its English name."""
    return _CODE_OF_NAME.get(language.strip().lower(), language)


def first_part(code: str) -> str:
    """Returns a code without script and country, in small letters: pt of pt-BR."""
    return plain(code).partition("-")[0]


def base_of(code: str) -> str:
    """Returns the language of a code, without script and country: pt of pt-BR, zh of zt, de of deu_Latn."""
    first = first_part(code)
    return _BASES.get(first, first)


def script_of(code: str) -> str | None:
    """Returns the script that a code names, in small letters: hant of zh-Hant-TW and of zt; None if it names none."""
    known = _FIRST.get(plain(code), plain(code))
    return "hant" if known == "zt" else next((part for part in known.split("-")[1:] if len(part) == 4), None)


def usual_script(code: str) -> str | None:
    """Returns the script that a code names, or else the usual one of its language; None if unknown."""
    return script_of(code) or _SCRIPTS.get(base_of(code))


def preferred(code: str) -> str:
    """Returns the code that cpunmt uses for the language: zh of zh-CN, de of deu_Latn and of mBART's de_DE; the code
    itself if it has no other."""
    code = plain(code)
    if code in _FIRST:
        return _FIRST[code]
    first, _, script = code.partition("-")
    if code in _LOCALES:
        return _FIRST.get(first, first)
    if len(script) != 4:
        return code
    base = _BASES.get(first, first)
    if _SCRIPTS.get(base) == script:
        return _FIRST.get(first, first)
    return _FIRST.get(f"{base}-{script}", f"{base}-{script}")


def code_of(piece: str) -> str:
    """Returns the code in the piece of a model that names a language: de of __de__, deu_Latn of itself."""
    return piece.strip("_")


def is_unspaced(language: str | None) -> bool | None:
    """Returns whether sentences of a language have no spaces between them; None: unknown, or several languages."""
    if language is None or "+" in language:  # of several, one of which a text names
        return None
    return base_of(language) in _UNSPACED


def found_in(code: str, there: Iterable[str]) -> str | None:
    """Returns the code in `there` that matches `code`, a code or a name: the same, another spelling, the language or a
    variant of it, best in the same or the usual script; or None.

    zh finds zh-Hans, zh-Hant-TW finds zt, en-GB finds en, pt finds pt-BR, German finds deu_Latn.
    """
    there = list(there)
    if code in there:
        return code
    if len(code) > _LONGEST:
        return None
    code = named_code(code)
    known, parts = {plain(one): one for one in reversed(there)}, plain(code).split("-")
    for count in range(len(parts), 0, -1):
        wanted = "-".join(parts[:count])
        for candidate in (wanted, *_ALIKE_OF.get(wanted, ())):
            if candidate in known:
                return known[candidate]
    base = base_of(code)
    script = usual_script(code)
    relatives = [one for one in there if base_of(one) == base]
    return min(relatives, key=lambda one: usual_script(one) != script, default=None)


def name_of(code: str) -> str:
    """Returns the English name of a language, or the code if the name is unknown."""
    return NAMES.get(preferred(code)) or NAMES.get(base_of(code), code)
