"""Packs the matrices of a float32 checkpoint, and measures the error of each."""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from cpunmt.formats.conversion import packed_tensors
from cpunmt.layers.schemes import CODEBOOKS, int8, int16
from cpunmt.model.config import ModelConfig
from quantize.rounding.ranges import Range, quantize

WORST = 5  # reported columns


def _reach(levels: Any) -> float:
    """Returns the bound beyond which a number is farther from the largest level than half the last interval."""
    magnitudes = np.unique(np.abs(levels.astype(int)))
    return float(magnitudes[-1] + (magnitudes[-1] - magnitudes[-2]) / 2)


# of each scheme: a weight larger than this number of scales is clipped, not rounded
REACH = {"int8": int8.LARGEST + 0.5, "int16": int16.LARGEST + 0.5}
REACH |= {scheme: _reach(levels) for scheme, levels in CODEBOOKS.items()}

# Decibels below which a matrix has lost too much. Trained students stay above 37 (int8), 69 (int16), 15 (code4) and 10
# (log4), calibrated ones included; at 23 dB (int8) one translation in ten changes, at 15 BLEU falls.
LEAST = {"int8": 25, "int16": 25, "code4": 12, "log4": 8}


class LayerError(NamedTuple):
    """The error of one matrix. The columns of a table are its pieces."""

    name: str
    scheme: str
    shape: tuple[int, int]  # (depth, columns)
    signal_to_noise: float  # decibels; infinite without any loss
    clipped: float  # share of the weights beyond their column's range
    worst: list[tuple[int, float]]  # (column, decibels), the lowest first; without exact ones
    rest: float = math.inf  # decibels without the largest weight of each column, which may hide the loss of all others

    @property
    def lowest(self) -> float:
        """Returns the lower of the decibels of all weights, and of all but the largest ones."""
        return min(self.signal_to_noise, self.rest)


def layer_error(name: str, scheme: str, weights: np.ndarray, stored: np.ndarray, reach: np.ndarray) -> LayerError:
    """Returns the error of float32 weights [depth, columns] and their `stored` form, float64.

    `reach` [columns]: larger weights were clipped, not rounded.
    """
    weights = weights.astype(np.float64)
    squares, errors = np.square(weights), np.square(weights - stored)
    signal, noise = squares.sum(axis=0), errors.sum(axis=0)
    largest = squares.argmax(axis=0)[None]
    rest = [
        float((total - np.take_along_axis(each, largest, 0)[0]).clip(0).sum())
        for total, each in ((signal, squares), (noise, errors))
    ]
    columns = decibels(signal, noise)
    order = np.argsort(columns, kind="stable")[:WORST]
    worst = [(int(column), float(columns[column])) for column in order if noise[column] > 0]
    clipped = float((np.abs(weights) > reach).mean())
    whole = float(decibels(signal.sum(), noise.sum()))
    return LayerError(name, scheme, weights.shape, whole, clipped, worst, float(decibels(*map(np.float64, rest))))


def poor(errors: list[LayerError]) -> list[LayerError]:
    """Returns the layers that lost more than their scheme should lose, the worst first."""
    found = [error for error in errors if error.lowest < LEAST[error.scheme]]
    return sorted(found, key=lambda error: error.lowest - LEAST[error.scheme])


def decibels(signal: Any, noise: Any) -> np.ndarray:
    """Returns 10 log10(signal / noise): infinite without noise, -999 for noise without a signal."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(noise > 0, np.maximum(10 * np.log10(signal / noise), -999), np.inf)


def pack_tensors(
    config: ModelConfig,
    tensors: Mapping[str, np.ndarray],
    scheme: str,
    *,
    schemes: Mapping[str, str] | None = None,
    quantizer: Callable[[str, np.ndarray, str], tuple[np.ndarray, np.ndarray]] | None = None,
    alphas: Mapping[str, float] | None = None,
) -> tuple[ModelConfig, dict[str, np.ndarray], list[LayerError]]:
    """Returns the packed model's config, its tensors in file order, and the error of each matrix rounded here.

    Parameters: see `cpunmt.formats.conversion.packed_tensors`; without a `quantizer` the default `Range` counts.
    """
    errors = []

    def noting(name: str, weights: Any, scheme: str) -> Any:
        q, scales = quantizer(name, weights, scheme) if quantizer else quantize(weights, scheme, Range())
        exact = scales.astype(np.float64)
        errors.append(layer_error(name, scheme, weights, q * exact, REACH[scheme] * exact))
        return q, scales

    return *packed_tensors(config, tensors, scheme, schemes=schemes, quantizer=noting, alphas=alphas), errors
