"""Notices a document that is in the language into which it is to be translated: much of it stays as it is."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cpunmt.files.console import say
from cpunmt.sentences.detection import Detector
from cpunmt.text.languages.codes import base_of, named_code

_WORD = re.compile(r"[^\W\d_]+")
_KEPT = 0.3  # share of the words that stay: 0.1 in the right direction, 0.5 to 0.8 in the wrong one
_LEAST = 20  # words that are enough to judge
_SAMPLE = 2000  # characters
_LEAST_CONFIDENCE = 0.5  # 0 if py3langid does not know the source language


class WrongDirection:
    """Counts the words of a document that its translation keeps."""

    def __init__(self, source: str | None, target: str | None):
        """`source`, `target`: the languages of the translation; None, or several joined by "+": not known."""
        self._languages = [base_of(named_code(one)) for one in (source, target) if one and "+" not in one]
        self._words = self._kept = 0
        self._sample = ""

    def add(self, texts: Iterable[str], translations: Iterable[str]) -> None:
        for text, translation in zip(texts, translations, strict=True):
            words = set(_WORD.findall(text.lower()))
            self._words += len(words)
            self._kept += len(words.intersection(_WORD.findall(translation.lower())))
            if len(self._sample) < _SAMPLE:
                self._sample += f"{text} "

    def report(self, name: str) -> None:
        """Prints a line on stderr if many words of the document `name` have stayed, and py3langid, which takes half a
        second, finds them to be of the target language.
        """
        if self._words < _LEAST or self._kept < _KEPT * self._words or len(set(self._languages)) < 2:
            return
        source, target = self._languages
        if not Detector.is_installed():
            return
        best = Detector([source, target]).best(self._sample)
        if best.language == target and best.confidence > _LEAST_CONFIDENCE:
            say(f"cpunmt: {name}: seems to be in {target}, but was translated from {source}; choose another model (-m)")
