"""Which language a text is in, among those that are served: see `translation.texts.detection`."""

from __future__ import annotations

from cpunmt.serve.errors import bad
from cpunmt.translation.texts import detection
from cpunmt.translation.texts.detection import Detected as Detected


class Detector(detection.Detector):
    """Tells the languages of texts; that it cannot is an answer."""

    def detect(self, text: str) -> list[Detected]:
        """The languages that a text may be in. Raises ServeError if py3langid is not installed."""
        if not self.is_installed():
            raise bad(
                "The language cannot be detected: py3langid is not installed on the server",
                "Name the source language, or install it: pip install 'cpunmt[detect]'",
            )
        return super().detect(text)
