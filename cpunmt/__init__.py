"""Fast neural machine translation on one CPU core.

from cpunmt import Translator
Translator("models/ende-tiny").translate("A man is riding a bicycle.").text
"""

from cpunmt.errors import CpunmtError, ModelFileError, UnsupportedIsaError
from cpunmt.loading import contains_model, get_supported_compute_types
from cpunmt.options import Options
from cpunmt.results import ExecutionStats, Hypothesis, Result, ScoringResult, TranslationResult
from cpunmt.translator import Translator

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
