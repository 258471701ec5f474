"""Conversion of stored weights to operands of compiled code: decodes compact formats, and proves that sums fit.

stored     int8, int16, float32    as they are: the file's own memory
           float16                 float32
           log4, code4             int8, and for single rows the file's codes: half the bytes to read
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from cpunmt.errors import ModelFileError
from cpunmt.kernels import records
from cpunmt.kernels.matmul.packing import GROUP, PANEL
from cpunmt.layers.schemes import CODEBOOKS, int8, int16
from cpunmt.layers.stored import Linear

_WORDS = 128  # 8-bit numbers whose sum fits 16 bits


class Weights(NamedTuple):
    """One matrix in the form of compiled code; None: not of this scheme. Layouts: records.LINEAR and records.TABLE."""

    scheme: int  # FLOAT32, INT8 or INT16
    values: np.ndarray
    scales: np.ndarray | None = None  # float32 [columns]
    sums: np.ndarray | None = None  # int32 [columns]: of the integers; INT8 only
    codes: np.ndarray | None = None  # of 4 bits
    levels: np.ndarray | None = None  # int8 [16]: the level of each code

    def totals(self) -> np.ndarray | None:
        """Returns the sum of each column's real weights, float32 [columns]; INT8 only."""
        return None if self.sums is None else self.scales * self.sums.astype(np.float32)


def linear_weights(tensors: Mapping[str, np.ndarray], linear: Linear, scheme: str) -> Weights:
    """Returns the weights of a linear layer, from the tensors of `stored.linear_tensors`.

    Raises ModelFileError for int16 weights whose sums could overflow, and for int8 weights that instruction sets
    could multiply differently: -128, or sums that are not those of the weights.
    """
    return _weights(tensors, linear.name, scheme, linear.depth, in_panels=True)


def table_weights(tensors: Mapping[str, np.ndarray], name: str, scheme: str) -> Weights:
    """Returns the weights of a table of pieces; only the output layer has `sums`."""
    return _weights(tensors, name, scheme, tensors[f"{name}.weight"].shape[1], in_panels=False)


def _weights(tensors, name, scheme, depth, in_panels):
    values = tensors[f"{name}.weight"]
    if scheme in ("float32", "float16"):
        return Weights(records.FLOAT32, np.asarray(values, np.float32))
    scales = tensors[f"{name}.scale"]
    if scheme == "int16":
        _prove(name, values, (1, 3) if in_panels else (1,), depth)
        return Weights(records.INT16, values, scales)
    sums_of = panel_sums if in_panels else row_sums
    if scheme == "int8":
        sums = tensors.get(f"{name}.sums")
        _prove_int8(name, values, sums, None if sums is None else sums_of(values))
        return Weights(records.INT8, values, scales, sums)
    levels = CODEBOOKS[scheme]
    halves = [levels[values & 15], levels[values >> 4]]
    if not in_panels:
        decoded = np.concatenate(halves, axis=1)
        return Weights(records.INT8, decoded, scales, sums_of(decoded))
    decoded = np.stack(halves, axis=2).reshape(len(values), -1, PANEL, GROUP)  # groups 2 j and 2 j + 1 of a panel
    return Weights(records.INT8, decoded, scales, sums_of(decoded), values, levels)


def panel_sums(values: np.ndarray) -> np.ndarray:
    """Adds up each column of int8 panels [panels, groups, PANEL, GROUP]: int32 [columns]."""
    count, groups, _, _ = values.shape
    lanes = values.reshape(count, groups, PANEL * GROUP)
    sums = np.zeros((count, PANEL * GROUP), np.int32)
    for first in range(0, groups, _WORDS):  # ten times as fast as one sum in int32
        sums += np.add.reduce(lanes[:, first : first + _WORDS], axis=1, dtype=np.int16)
    return sums.reshape(-1, GROUP).sum(axis=1, dtype=np.int32)


def row_sums(values: np.ndarray) -> np.ndarray:
    """Adds up each row of int8 [rows, columns]: int32 [rows]."""
    sums = np.zeros(len(values), np.int32)
    for first in range(0, values.shape[1], _WORDS):
        sums += np.add.reduce(values[:, first : first + _WORDS], axis=1, dtype=np.int16)
    return sums


def _prove_int8(name, values, sums, expected):
    """Refuses int8 weights whose products could differ between instruction sets."""
    if values.size and values.min() < -int8.LARGEST:
        raise ModelFileError(
            f"{name}.weight: an 8-bit weight of -128, expected -127 to 127: its magnitude has no place in 8 bits; pack "
            "the model again"
        )
    if sums is not None and not np.array_equal(sums, expected):
        raise ModelFileError(f"{name}.sums: not the sums of its weights; the file is damaged, pack the model again")


def _prove(name, values, axes, depth):
    """Refuses int16 weights whose products with some activations could overflow."""
    reach = int16.activation_reach(depth)
    if not int16.overflow_free(values, reach, axes):
        raise ModelFileError(
            f"{name}.weight: 16-bit weights whose sums can overflow: a column's magnitudes may add up to "
            f"{int16.LARGEST_SUM // reach}, with activations up to {reach}; pack the model again"
        )
