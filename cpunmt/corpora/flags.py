"""Filters: names the faults of a row, for the column `flags`."""

from __future__ import annotations

from collections.abc import Callable

from cpunmt.corpora.job import Filters
from cpunmt.corpora.translation_cache import Translated
from cpunmt.errors import CpunmtError
from cpunmt.registry.store import model_languages
from cpunmt.sentences.detection import Detector
from cpunmt.text.languages.codes import base_of
from cpunmt.translator.translator import Translator

IsIn = Callable[[str], bool]  # whether a text seems to be in the wanted language


def flags_of(made: Translated, filters: Filters, is_in: IsIn | None) -> tuple[str, ...]:
    """Returns the names of a row's faults: score, ratio, doubts, language, in this order.

    A text without translated pieces has only doubts. `is_in`: needed if the filters want a language.
    """
    found = []
    if made.sources and filters.min_score is not None and not made.score >= filters.min_score:
        found.append("score")
    most = filters.max_length_ratio
    if made.sources and most is not None and ratio(made.sources, made.pieces) > most:
        found.append("ratio")
    found += [name for name in filters.named_doubts if name in made.doubts]
    if made.sources and is_in is not None and not is_in(made.text):
        found.append("language")
    return tuple(found)


def ratio(sources: int, targets: int) -> float:
    """Returns how many times more pieces one side has; the end of a sentence counts on both."""
    return max((sources + 1) / (targets + 1), (targets + 1) / (sources + 1))


# The other languages that a text may be in; with more of them, short texts are mistaken more often.
OTHERS = ("en", "de", "fr", "es", "it", "pt", "nl", "pl", "cs", "sv", "ru", "uk", "ar", "tr", "zh", "ja", "ko", "el")


def wanted_language(language: str | None, translator: Translator) -> IsIn | None:
    """Returns a function that tests whether a text is in this language; None if none is wanted.

    It compares with the model's source language and OTHERS; an ambiguous text passes.

    Raises CpunmtError if py3langid is not installed.
    """
    if language is None:
        return None
    if not Detector.is_installed():
        raise CpunmtError("the filter language needs py3langid, which is missing; run: pip install 'cpunmt[detect]'")
    source = model_languages(translator.metadata, str(translator.path)).source
    wanted = base_of(language)
    others = dict.fromkeys(base_of(one) for one in (*filter(None, [source]), *OTHERS))
    detector = Detector([wanted, *(one for one in others if one != wanted)], is_any_other=False)

    def is_in(text: str) -> bool:
        found = detector.best(text)
        return found.confidence == 0 or found.language == wanted

    return is_in
