"""Whether a translation is in the language that is wanted, as far as py3langid can tell."""

from __future__ import annotations

from cpunmt.corpora.flags import IsIn
from cpunmt.translation.translator import Translator


def wanted_language(language: str | None, translator: Translator) -> IsIn | None:
    """A function of a text; None if no language is wanted."""
    if language is None:
        return None
    raise NotImplementedError
