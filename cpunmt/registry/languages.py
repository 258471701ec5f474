"""From which language a model translates into which, as far as its metadata or its name say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from cpunmt.registry.store import languages_of

_PAIR = r"(?:.*[-_./:])?([a-z]{2,3})[-_]([a-z]{2,3})/?|.*:([a-z]{2})([a-z]{2})(?:@.*)?"


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
