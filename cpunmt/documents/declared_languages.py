"""Compares the languages that a file declares with the languages of its translation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from cpunmt.documents.document import DocumentError
from cpunmt.options.options import SPOKEN
from cpunmt.registry.store import Languages
from cpunmt.text.languages.codes import base_of, named_code
from cpunmt.values.checks import shown

_UNKNOWN = ("", "und", "mul", "mis", "zxx")  # the last four are ISO 639-2's codes of no certain language
_INTO = ("from", "into")


def check_languages(declared: Iterable[Languages], model: Languages, options: Mapping[str, Any]) -> None:
    """Raises DocumentError if a file declares another language than that of the translation.

    Languages are compared without script and country. A side is not compared if `options` names its language, or if
    the model has several, joined by "+". The target language of a file may also be the source language of the model,
    as in templates.
    """
    templates = [_base(code) for code in (model.source or "").split("+")]
    for languages in declared:
        for side, option, into, own, expected in zip(Languages._fields, SPOKEN, _INTO, languages, model, strict=True):
            if options.get(option) or not own or not expected or "+" in expected:
                continue
            if _base(own) not in (*_UNKNOWN, *templates, _base(expected)):
                raise DocumentError(
                    f"declares the {side} language {shown(own)}, but the model translates {into} {expected}; choose "
                    f"another model, or if the file is wrong, name the languages {_named(model)}"
                )


def _named(model: Languages) -> str:
    """Returns the options that name a model's languages, each as `(option=value)`, which the command shows as flags."""
    return " and ".join(
        f"({option}={language})"
        for option, language in zip(SPOKEN, model, strict=True)
        if language and "+" not in language
    )


def _base(language: str) -> str:
    return base_of(named_code(language))
