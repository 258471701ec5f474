"""The size and the parts of an architecture's working memory."""

from typing import NamedTuple

import numpy as np


class MemorySize(NamedTuple):
    """The capacity of a call's memory."""

    slots: int  # sentences decoded in parallel
    beam: int  # hypotheses of each
    steps: int  # pieces of each
    rows: int  # of any product at once
    source: int  # pieces of the longest source, a multiple of 16


class Memory(NamedTuple):
    """A family's record of its memory, and the three arrays in it that the output layer reads."""

    record: np.ndarray
    hidden: np.ndarray  # float32 [rows, model_dim]
    quantized: np.ndarray  # bytes: the same as integers
    row_scales: np.ndarray  # float32 [rows, 2]
