"""The second of the two passes: all units of a document, translated in bulk, equal ones once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from cpunmt.documents.document import Unit
from cpunmt.documents.marks import TAGS, apart, together
from cpunmt.files.windows import windows

WINDOW = 1024  # units that are translated together: progress is told after each


class Translates(Protocol):
    """A `Translator` or a `Pivot`."""

    def translate(self, text: Any, target_prefix: Any = None, **given: Any) -> Any:
        """Results of texts."""


def translated(
    units: Sequence[Unit], translator: Translates, options: dict[str, Any], advance: Callable[[int], object]
) -> list[str]:
    """The translation of each unit, in its form.

    `options` are those of `translate`. `advance` is told how many units are done since it was told before.
    """
    found: dict[Unit, str] = {}
    waiting = dict.fromkeys(units)
    for form in ("plain", "marked", "html"):
        of_form = [unit for unit in waiting if unit.form == form]
        for window in windows(of_form, WINDOW, WINDOW):
            texts = [unit.text for unit in window]
            found.update(zip(window, _TRANSLATE[form](texts, translator, options), strict=True))
            advance(len(window))
    return [found[unit] for unit in units]


def _plain(texts: list[str], translator: Translates, options: dict[str, Any]) -> Iterable[str]:
    return [result.text for result in translator.translate(texts, **_without(options, "tags"))]


def _marked(texts: list[str], translator: Translates, options: dict[str, Any]) -> Iterable[str]:
    result = translator.translate(together(texts), **{**options, "xml": True, "tags": TAGS})
    return apart(result.text)


def _html(texts: list[str], translator: Translates, options: dict[str, Any]) -> Iterable[str]:
    return [result.text for result in translator.translate(texts, **{**options, "html": True})]


def _without(options: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in options.items() if key != name}


_TRANSLATE: dict[str, Callable[[list[str], Translates, dict[str, Any]], Iterable[str]]] = {
    "plain": _plain,
    "marked": _marked,
    "html": _html,
}
