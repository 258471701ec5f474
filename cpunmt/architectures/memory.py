"""The size and the parts of an architecture's working memory."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

# (dtype, *shape) -> an uninitialized array, which lives as long as the memory that it is a part of
Allocate = Callable[..., np.ndarray]


class MemorySize(NamedTuple):
    """The capacity of a call's memory."""

    slots: int  # sentences decoded in parallel
    beam: int  # hypotheses of each
    steps: int  # pieces of each
    rows: int  # of any product at once
    source: int  # pieces of the longest source, a multiple of 16


class Memory(NamedTuple):
    """A family's record of its memory, and the arrays in it that the output layer uses."""

    record: np.ndarray
    hidden: np.ndarray  # float32 [rows, model_dim]
    quantized: np.ndarray  # bytes: the same as integers
    row_scales: np.ndarray  # float32 [rows, 2]
    room: np.ndarray  # bytes: see kernels.records.SCRATCH


def place(allocate: Allocate, record: Any, name: str, dtype: Any, *shape: int) -> np.ndarray:
    """Allocates an array, and writes its address to a field of a record."""
    array = allocate(dtype, *shape)
    record[name] = array.ctypes.data
    return array
