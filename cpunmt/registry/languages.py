"""From which language a model translates into which, as far as its metadata or its name say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from cpunmt.registry.store import languages_of

_PAIR = r"(?:.*[-_./:])?([a-z]{2,3})[-_]([a-z]{2,3})/?|.*:([a-z]{2})([a-z]{2})(?:@.*)?"
_UNSPACED = {"ja", "jpn", "zh", "zho", "chi", "cmn", "yue", "wuu", "lzh"}  # no space between sentences


class Languages(NamedTuple):
    """Codes, as ISO 639 has them; None: not known."""

    source: str | None = None
    target: str | None = None


def model_languages(metadata: Mapping[str, Any], name: str) -> Languages:
    """Of a model with this metadata; or else with this name, or in this directory: "opus-mt-en-de", "firefox:ende"."""
    if said := languages_of(metadata):
        return Languages(*said)
    found = re.fullmatch(_PAIR, name.lower())
    return Languages(found[1] or found[3], found[2] or found[4]) if found else Languages()


def is_unspaced(language: str | None) -> bool | None:
    """Whether sentences of a language follow one another without a space; None: it is not known, or several."""
    if language is None or "+" in language:  # of several, one of which a text names
        return None
    return language.lower().replace("_", "-").partition("-")[0] in _UNSPACED


def plain(code: str) -> str:
    """A code in small letters, with hyphens."""
    return code.strip().lower().replace("_", "-")


def base_of(code: str) -> str:
    """The language of a code, without script and country: pt of pt-BR, zh of zt."""
    first = plain(code).partition("-")[0]
    return {"zt": "zh", "pb": "pt", "no": "nb", "iw": "he", "in": "id", "tl": "fil", "zho": "zh", "cmn": "zh"}.get(
        first, first
    )
