"""Whether a translation is in the language that is wanted, as far as its script and py3langid can tell."""

from __future__ import annotations

from cpunmt.corpora.flags import IsIn
from cpunmt.errors import CpunmtError
from cpunmt.registry.store import model_languages
from cpunmt.sentences.detection import Detector
from cpunmt.text.language_codes import base_of
from cpunmt.translator.translator import Translator

# What else a text may be in; with more of them, short texts are more often taken for others.
OTHERS = ("en", "de", "fr", "es", "it", "pt", "nl", "pl", "cs", "sv", "ru", "uk", "ar", "tr", "zh", "ja", "ko", "el")


def wanted_language(language: str | None, translator: Translator) -> IsIn | None:
    """A function that tells whether a text is in this language; None if none is wanted.

    Beside it, a text may be in the model's source language, or in one of OTHERS; what could be in any has it.

    Raises CpunmtError if py3langid is not installed.
    """
    if language is None:
        return None
    if not Detector.is_installed():
        raise CpunmtError("--language needs py3langid, which is not installed; run: pip install 'cpunmt[detect]'")
    source = model_languages(translator.metadata, str(translator.path)).source
    wanted = base_of(language)
    others = dict.fromkeys(base_of(one) for one in (*filter(None, [source]), *OTHERS))
    detector = Detector([wanted, *(one for one in others if one != wanted)], is_any_other=False)

    def is_in(text: str) -> bool:
        found = detector.best(text)
        return found.confidence == 0 or found.language == wanted

    return is_in
