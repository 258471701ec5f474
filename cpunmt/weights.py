"""Stored weights -> what compiled code multiplies: decoded where they are small on disk only, and proved safe.

stored     int8, int16, float32    as they are: the file's own memory
           float16                 float32
           log4, code4             int8, and for single rows the file's codes: half the bytes to read
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from cpunmt import records
from cpunmt.architecture import Linear
from cpunmt.config import ModelConfig
from cpunmt.errors import ModelFileError
from cpunmt.kernels.packing import GROUP, PANEL
from cpunmt.schemes import CODEBOOKS, int16


class Weights(NamedTuple):
    """One matrix as compiled code reads it; None: not of this scheme. Layouts: records.LINEAR and records.TABLE."""

    scheme: int  # FLOAT32, INT8 or INT16
    values: np.ndarray
    scales: np.ndarray | None = None  # float32 [columns]
    sums: np.ndarray | None = None  # int32 [columns]: of the integers; INT8 only
    codes: np.ndarray | None = None  # of 4 bits
    levels: np.ndarray | None = None  # int8 [16]: what each code means

    def totals(self) -> np.ndarray | None:
        """Sum of each column's real weights, float32 [columns]; INT8 only."""
        return None if self.sums is None else self.scales * self.sums.astype(np.float32)


def linear_weights(config: ModelConfig, tensors: Mapping[str, np.ndarray], linear: Linear) -> Weights:
    """Of a linear layer, from the tensors of `architecture.expected_tensors`.

    Raises ModelFileError for int16 weights whose sums could overflow.
    """
    name = linear.name
    scheme, values = config.scheme_of(name), tensors[f"{name}.weight"]
    if scheme in ("float32", "float16"):
        return Weights(records.FLOAT32, np.asarray(values, np.float32))
    scales = tensors[f"{name}.scale"]
    if scheme == "int16":
        _prove(name, values, (1, 3), linear.depth)
        return Weights(records.INT16, values, scales)
    if scheme == "int8":
        return Weights(records.INT8, values, scales, tensors[f"{name}.sums"])
    levels = CODEBOOKS[scheme]
    low, high = levels[values & 15], levels[values >> 4]  # groups 2 j and 2 j + 1 of a panel
    decoded = np.stack([low, high], axis=2).reshape(len(values), linear.depth // GROUP, PANEL, GROUP)
    sums = decoded.sum(axis=(1, 3), dtype=np.int32).reshape(-1)
    return Weights(records.INT8, decoded, scales, sums, values, levels)


def table_weights(config: ModelConfig, tensors: Mapping[str, np.ndarray], name: str) -> Weights:
    """Of a table of pieces, likewise; `sums` are there for the output layer only."""
    scheme, values = config.scheme_of(name), tensors[f"{name}.weight"]
    if scheme in ("float32", "float16"):
        return Weights(records.FLOAT32, np.asarray(values, np.float32))
    scales = tensors[f"{name}.scale"]
    if scheme == "int16":
        _prove(name, values, (1,), values.shape[1])
        return Weights(records.INT16, values, scales)
    if scheme == "int8":
        return Weights(records.INT8, values, scales, tensors.get(f"{name}.sums"))
    levels = CODEBOOKS[scheme]
    decoded = np.concatenate([levels[values & 15], levels[values >> 4]], axis=1)
    return Weights(records.INT8, decoded, scales, decoded.sum(axis=1, dtype=np.int32))


def _prove(name, values, axes, depth):
    """Refuse int16 weights that some activations could make overflow."""
    reach = int16.activation_reach(depth)
    if not int16.overflow_free(values, reach, axes):
        raise ModelFileError(
            f"{name}.weight: 16-bit weights whose sums can overflow: a column's magnitudes may add up to "
            f"{int16.LARGEST_SUM // reach}, with activations up to {reach}; pack the model again"
        )
