"""The range of a column's integers: the scale that divides its weights before rounding."""

from typing import Any, NamedTuple

import numpy as np

from cpunmt.layers.schemes import CODEBOOKS, codebook, int8, int16

RANGES = ("max", "sigma", "mse")  # of int8
SIGMAS = 7.0  # of "sigma"
# tried ranges, as parts of the largest weight
_TRIED = np.linspace(1, 0.4, 25, dtype=np.float32)


class Range(NamedTuple):
    """The choice of a column's range.

    int8: with "max" max |w|, with "sigma" min(max |w|, sigmas * standard deviation), with "mse" the range of the least
    sum of squared errors. 4 bits: always the latter, of each column, or of the whole matrix (`per_tensor`). int16: the
    largest without overflow, or Devlin's fixed point (`fixed_point`).
    """

    kind: str = RANGES[0]
    sigmas: float = SIGMAS
    per_tensor: bool = False
    fixed_point: bool = False

    def __str__(self) -> Any:
        told = {"sigma": f"min(max, {self.sigmas:g} sigma)", "max": "max", "mse": "least squared error"}[self.kind]
        told += ", 4 bits: one scale per matrix" if self.per_tensor else ""
        return told + (", 16 bits: fixed point" if self.fixed_point else "")


def quantize(weights: np.ndarray, scheme: str, chosen: Range) -> tuple[np.ndarray, np.ndarray]:
    """Returns (integers [depth, columns], scales [columns]) by rounding to the nearest."""
    if scheme == "int16":
        return (int16.fixed_point if chosen.fixed_point else int16.quantize_columns)(weights)
    if scheme in CODEBOOKS:
        return codebook.quantize_columns(weights, CODEBOOKS[scheme], chosen.per_tensor)
    scales = int8_scales(weights, chosen)
    return int8.nearest(weights / scales), scales


def int8_scales(weights: np.ndarray, chosen: Range) -> np.ndarray:
    """Returns float32 [columns]."""
    if chosen.kind == "mse":
        return np.asarray(_least_error(weights))
    scales: np.ndarray = int8.column_scales(weights, chosen.sigmas if chosen.kind == "sigma" else None)
    return scales


def _least_error(weights: Any) -> Any:
    widest = int8.column_scales(weights, None)
    best, least = widest, np.full(weights.shape[1], np.inf)
    for part in _TRIED:
        scales = widest * part
        scales = np.where(scales > 0, scales, widest)
        error = np.square(weights - int8.nearest(weights / scales) * scales, dtype=np.float64).sum(axis=0)
        best, least = np.where(error < least, scales, best), np.minimum(error, least)
    return best
