"""Fast neural machine translation on one CPU core.

from cpunmt import Translator
Translator("models/ende-tiny").translate("A man is riding a bicycle.").text
"""

import importlib

from cpunmt.errors import CpunmtError, ModelFileError, UnsupportedIsaError
from cpunmt.process.first_use import LOCK

TYPE_CHECKING = False  # typing's takes 5 ms to import
if TYPE_CHECKING:
    from cpunmt.translation.loading import contains_model, get_supported_compute_types
    from cpunmt.translation.options import Options
    from cpunmt.translation.results import ExecutionStats, Hypothesis, Result, ScoringResult, TranslationResult
    from cpunmt.translation.translator import Translator

__version__ = "0.1.0"
__all__ = [
    "CpunmtError",
    "ExecutionStats",
    "Hypothesis",
    "ModelFileError",
    "Options",
    "Result",
    "ScoringResult",
    "TranslationResult",
    "Translator",
    "UnsupportedIsaError",
    "contains_model",
    "get_supported_compute_types",
]

# Imported when they are first asked for: the command line must be in charge before anything takes time, see `process`.
_MODULES = {
    "loading": ("contains_model", "get_supported_compute_types"),
    "options": ("Options",),
    "results": ("ExecutionStats", "Hypothesis", "Result", "ScoringResult", "TranslationResult"),
    "translator": ("Translator",),
}


def __getattr__(name):
    for module, names in _MODULES.items():
        if name in names:
            with LOCK:
                found = importlib.import_module(f"cpunmt.translation.{module}")
            return globals().setdefault(name, getattr(found, name))
    raise AttributeError(f"module 'cpunmt' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__})
