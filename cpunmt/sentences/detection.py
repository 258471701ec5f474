"""Finds the language of a text among given ones: by its script if that decides, else by py3langid."""

from __future__ import annotations

import importlib.util
import re
import threading
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from cpunmt.errors import CpunmtError
from cpunmt.process.first_use import LOCK
from cpunmt.text.languages.codes import base_of
from cpunmt.text.scripts import script_of_letter

_SCRIPTS = {
    "ARABIC": "ar fa ur ps ug sd",
    "ARMENIAN": "hy",
    "BENGALI": "bn as",
    "CJK": "zh ja",
    "CYRILLIC": "be bg kk ky mk mn ru sr tg tt uk",
    "DEVANAGARI": "hi mr ne sa",
    "ETHIOPIC": "am ti",
    "GEORGIAN": "ka",
    "GREEK": "el",
    "GUJARATI": "gu",
    "GURMUKHI": "pa",
    "HANGUL": "ko",
    "HEBREW": "he yi",
    "HIRAGANA": "ja",
    "KANNADA": "kn",
    "KATAKANA": "ja",
    "KHMER": "km",
    "LAO": "lo",
    "MALAYALAM": "ml",
    "MYANMAR": "my",
    "ORIYA": "or",
    "SINHALA": "si",
    "TAMIL": "ta",
    "TELUGU": "te",
    "THAI": "th",
}
_OF_SCRIPT = {script: frozenset(languages.split()) for script, languages in _SCRIPTS.items()}
_NOT_LATIN = frozenset().union(*_OF_SCRIPT.values()) - {"sr", "kk", "mn"}  # written in Latin letters too
_NO_WORDS = re.compile(r"<[^<>]*>|&\w+;|https?://\S+|www\.\S+|\S+@\S+\.\w+|[^\w\s'\u2019-]|[\d_]")
_LONGEST = 2000  # characters examined
_LEAST = 0.2  # a lower confidence is a mere guess


class Detected(NamedTuple):
    """One of the given languages, with a confidence from 0 (a guess) to 1."""

    language: str
    confidence: float


class Detector:
    """A detector of languages among given ones. Threads may share it."""

    def __init__(self, languages: Sequence[str], is_any_other: bool = True):
        """Sets the languages to detect.

        Parameters
        ----------
        languages : codes; a text without words gets the first one, with confidence 0
        is_any_other : whether a text may be in another language that py3langid knows. If so, confidence is the
            language's share among all languages of py3langid, else its share among `languages`
        """
        self._languages, self._is_any_other = list(languages), is_any_other
        self._lock = threading.Lock()
        self._identifier: Any = None

    @staticmethod
    def is_installed() -> bool:
        """Returns whether py3langid is installed."""
        return importlib.util.find_spec("py3langid") is not None

    def detect(self, text: str) -> list[Detected]:
        """Returns the possible languages of a text, the most probable first; at least one.

        Raises CpunmtError if py3langid is not installed.
        """
        if not self.is_installed():
            raise CpunmtError(
                "the language cannot be detected: py3langid is not installed; run: pip install 'cpunmt[detect]'"
            )
        words = _NO_WORDS.sub(" ", text[:_LONGEST]).strip()
        scripts = Counter(filter(None, map(script_of_letter, words)))
        fits = self._written_in(scripts) if scripts else []
        if not fits:
            return [Detected(self._languages[0], 0.0)]
        if len({base_of(language) for language in fits}) == 1 and self._is_told_by(scripts, fits):
            return [Detected(fits[0], 1.0)]
        return [Detected(language, share if share >= _LEAST else 0.0) for language, share in self._ranked(words, fits)]

    def best(self, text: str) -> Detected:
        """Returns the most probable language of a text."""
        return self.detect(text)[0]

    def _written_in(self, scripts: Counter[str]) -> list[str]:
        """Returns the languages written in the main script of a text."""
        if scripts["HIRAGANA"] + scripts["KATAKANA"]:  # Japanese, however many Chinese characters it has
            wanted: frozenset[str] | None = _OF_SCRIPT["HIRAGANA"]
        else:
            wanted = _OF_SCRIPT.get(scripts.most_common(1)[0][0])
        if wanted is None:
            return [language for language in self._languages if base_of(language) not in _NOT_LATIN]
        return [language for language in self._languages if base_of(language) in wanted]

    def _is_told_by(self, scripts: Counter[str], fits: Sequence[str]) -> bool:
        """Returns whether the script alone identifies the one language in `fits`."""
        is_only_one = len(_OF_SCRIPT.get(scripts.most_common(1)[0][0], ())) == 1
        return is_only_one or (not self._is_any_other and len(fits) < len(self._languages))

    def _ranked(self, words: str, fits: Sequence[str]) -> list[tuple[str, float]]:
        """Returns (language, share of the probability of all possible languages), the best first."""
        identifier = self._loaded()
        by_base: dict[str, str] = {}
        for language in fits:
            by_base.setdefault(base_of(language), language)
        shares = {base_of(label): share for label, share in identifier.rank(words)}
        found = [(by_base[base], float(shares.get(base, 0.0))) for base in by_base]
        ranked = sorted(found, key=lambda pair: -pair[1])
        if self._is_any_other:
            return ranked
        total = sum(share for _, share in found) + float(shares.get("zxx", 0.0))
        return [(language, share / total if total else 0.0) for language, share in ranked]

    def _loaded(self) -> Any:
        with self._lock:
            if self._identifier is None:
                with LOCK:
                    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # type: ignore[import-untyped]
                identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
                if not self._is_any_other:
                    bases = {base_of(language) for language in self._languages} | {"zxx"}
                    identifier.set_languages([label for label in identifier.labels if base_of(label) in bases])
                self._identifier = identifier
        return self._identifier
