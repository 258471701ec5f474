"""Fast neural machine translation on one CPU core.

from cpunmt import Translator
Translator("models/ende").translate("A man is riding a bicycle.").text
"""

import importlib

from cpunmt.errors import CancelledError, CpunmtError, ModelFileError, TimeLimitError, UnsupportedIsaError, XmlError
from cpunmt.process.first_use import LOCK

TYPE_CHECKING = False  # typing's takes 5 ms to import
if TYPE_CHECKING:
    from cpunmt.corpora.shard import translate_shard
    from cpunmt.corpora.table_translator import TableTranslator
    from cpunmt.decoding.call_settings import AsyncResult
    from cpunmt.decoding.loading import contains_model, get_supported_compute_types
    from cpunmt.decoding.reranking.bayes_risk import expected_utilities
    from cpunmt.options.glossary.glossary import Glossary
    from cpunmt.options.options import Options, ScoringOptions, TranslationOptions
    from cpunmt.results.glossary_use import GlossaryUse
    from cpunmt.results.results import (
        ExecutionStats,
        GenerationStepResult,
        Hypothesis,
        Result,
        ScoringResult,
        TranslationResult,
    )
    from cpunmt.results.sentence import Sentence
    from cpunmt.translator.pivot import Pivot
    from cpunmt.translator.translator import Translator

__version__ = "0.1.0"
__all__ = [
    "AsyncResult",
    "CancelledError",
    "CpunmtError",
    "ExecutionStats",
    "GenerationStepResult",
    "Glossary",
    "GlossaryUse",
    "Hypothesis",
    "ModelFileError",
    "Options",
    "Pivot",
    "Result",
    "ScoringOptions",
    "ScoringResult",
    "Sentence",
    "TableTranslator",
    "TimeLimitError",
    "TranslationOptions",
    "TranslationResult",
    "Translator",
    "UnsupportedIsaError",
    "XmlError",
    "contains_model",
    "expected_utilities",
    "get_supported_compute_types",
    "translate_shard",
]

# Imported when they are first asked for: the command line must be in charge before anything takes time, see `process`.
_MODULES = {
    "corpora.shard": ("translate_shard",),
    "corpora.table_translator": ("TableTranslator",),
    "decoding.call_settings": ("AsyncResult",),
    "options.glossary.glossary": ("Glossary",),
    "results.glossary_use": ("GlossaryUse",),
    "decoding.loading": ("contains_model", "get_supported_compute_types"),
    "options.options": ("Options", "ScoringOptions", "TranslationOptions"),
    "translator.pivot": ("Pivot",),
    "decoding.reranking.bayes_risk": ("expected_utilities",),
    "results.results": (
        *("ExecutionStats", "GenerationStepResult", "Hypothesis", "Result", "ScoringResult", "TranslationResult"),
    ),
    "results.sentence": ("Sentence",),
    "translator.translator": ("Translator",),
}


def _found(name: str) -> object:
    for module, names in _MODULES.items():
        if name in names:
            with LOCK:
                found = importlib.import_module(f"cpunmt.{module}")
            return globals().setdefault(name, getattr(found, name))
    if name.startswith("_"):  # Python asks for some
        raise AttributeError(f"module 'cpunmt' has no attribute {name!r}")
    with LOCK:
        from cpunmt.options.foreign_names import said_of
    raise AttributeError(said_of(name), name=name)


if not TYPE_CHECKING:  # else every name would be one to a type checker
    __getattr__ = _found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
