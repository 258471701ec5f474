"""Fast neural machine translation on one CPU core.

from cpunmt import Translator
Translator("models/ende-student").translate("A man is riding a bicycle.").text
"""

from cpunmt.errors import CpunmtError, ModelFileError, UnsupportedIsaError
from cpunmt.options import Options
from cpunmt.translator import Result, TranslationResult, Translator

__version__ = "0.1.0"
__all__ = [
    "CpunmtError",
    "ModelFileError",
    "Options",
    "Result",
    "TranslationResult",
    "Translator",
    "UnsupportedIsaError",
]
