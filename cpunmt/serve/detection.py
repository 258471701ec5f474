"""The languages of a request, by its codes and its texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from cpunmt.sentences import detection
from cpunmt.sentences.detection import Detected as Detected
from cpunmt.serve.errors import bad, said
from cpunmt.serve.model_host import ModelHost
from cpunmt.text.languages.codes import base_of, found_in

AUTO = "auto"


class Wanted(NamedTuple):
    """The resolved languages of one text.

    source    a served language
    target    a served language; if it is the source, the text stays unchanged
    detected  how the source was detected, if it was not given
    """

    source: str
    target: str
    detected: Detected | None = None


class Detector(detection.Detector):
    """A language detector; without py3langid it raises an error."""

    def detect(self, text: str) -> list[Detected]:
        """Returns the languages that a text may be in. Raises ServeError if py3langid is not installed."""
        if not self.is_installed():
            raise bad(
                "The language cannot be detected: py3langid is not installed on the server",
                "Name the source language, or install it: pip install 'cpunmt[detect]'",
            )
        return super().detect(text)


def settled(host: ModelHost, detector: Detector, texts: Sequence[str], source: str, target: str) -> list[Wanted]:
    """Returns the languages of each text. `source` and `target`: codes as a client writes them, or "auto".

    Raises ServeError if a language is not served, or no models lead from one to the other.
    """
    # A code normally names the language itself; but pt may be served as the source pt and the target pt-BR.
    intos = _meant(target, host.languages)
    if source.lower() != AUTO:
        pairs = [(one, into) for one in _meant(source, host.languages) for into in intos]
        pair = next((pair for pair in pairs if _fits(host, *pair)), pairs[0])
        wanted = [Wanted(*pair)] * len(texts)
    else:
        wanted = [_detected(host, detector, text, intos) for text in texts]
    for one in set(wanted):
        if not _fits(host, one.source, one.target):
            raise bad(f"{said(target)} is not available as a target language from {one.source}")
    return wanted


def _detected(host: ModelHost, detector: Detector, text: str, intos: Sequence[str]) -> Wanted:
    """Returns the languages of a text without a given source; an unsure source must lead to a target."""
    found = detector.detect(text)
    best = found[0]
    guesses = [] if best.confidence else [*found[1:], *(Detected(one, 0.0) for one in host.sources)]
    for one in (best, *guesses):
        for into in intos:
            if _fits(host, one.language, into):
                return Wanted(one.language, into, one)
    return Wanted(best.language, intos[0], best)


def _fits(host: ModelHost, source: str, target: str) -> bool:
    """Returns whether a text in one language can be translated into the other, or is in it already."""
    return source == target or host.leads(source, target)


def _meant(code: str, languages: Sequence[str]) -> list[str]:
    """Returns the languages that a code may mean, the nearest first, then its variants. Raises ServeError for none."""
    nearest = found_in(code, languages)
    if nearest is None:
        raise bad(f"{said(code)} is not supported")
    return [nearest, *(one for one in languages if one != nearest and base_of(one) == base_of(nearest))]
