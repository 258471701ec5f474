"""What other rooms of cpunmt need of a Translator or a Pivot, and users do not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cpunmt.translator.document_method import DocumentMethod
from cpunmt.translator.pivot import Pivot
from cpunmt.translator.text_pipeline import TextCall
from cpunmt.translator.translator import Translator


def text_call(translator: Translator | Pivot, options: Mapping[str, Any]) -> TextCall:
    """Returns how texts are translated with these options. Raises TypeError or ValueError for a wrong one."""
    if isinstance(translator, Pivot):
        return translator._text_call(translator._settings(None, options))
    return translator._text_call(translator._settings(options, None))


def target_language(translator: DocumentMethod) -> str | None:
    """Returns the code of the language that it translates into; None if it is not known."""
    return translator._target_language()


def weight_bytes(translator: Translator) -> int:
    """Returns the bytes of the weights in memory."""
    return translator._model.engine.model.bytes
