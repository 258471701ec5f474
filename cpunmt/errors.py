"""The errors that cpunmt raises on purpose.

A wrong argument of a public function raises the built-in TypeError or ValueError instead.
"""


class CpunmtError(Exception):
    """Base class: catches everything below."""


class ModelFileError(CpunmtError):
    """A model, vocabulary or shortlist file is missing, broken, or of a kind that is not supported."""


class CancelledError(CpunmtError):
    """A call was told by its `cancel` to end before it was done, or the result was cancelled that is asked for."""


class TimeLimitError(CpunmtError, TimeoutError):
    """The `time_limit` of a call was over before it was done. A Python TimeoutError too."""


class XmlError(CpunmtError, ValueError):
    """A text that is to be translated as XML is not well-formed. A Python ValueError too."""


class UnsupportedIsaError(CpunmtError):
    """`CPUNMT_ISA` names an instruction set that is unknown or that this machine lacks."""
