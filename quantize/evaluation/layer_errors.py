"""What quantization cost each matrix of a model: its weights against those it was made of."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from cpunmt.model.config import ModelConfig
from cpunmt.model.tensors import linears, table_sizes
from quantize.checkpoints.stored_weights import StoredMatrix, stored_bytes, stored_matrix

WORST = 5  # columns that are named


class LayerError(NamedTuple):
    """One matrix. Of a table the pieces are the columns."""

    name: str
    scheme: str
    shape: tuple[int, int]  # (depth, columns)
    bytes: int  # of all its tensors
    baseline_bytes: int
    signal_to_noise: float  # decibels; infinite where nothing was lost
    clipped: float  # share of the weights that lie outside their column's range
    worst: list[tuple[int, float]]  # (column, decibels), the lowest first; of those that lost anything


def layer_errors(
    models: tuple[ModelConfig, ModelConfig], tensors: tuple[Mapping[str, np.ndarray], Mapping[str, np.ndarray]]
) -> list[LayerError]:
    """Of every table, then of every linear layer in the order of use.

    Configs and tensors of two packed models of one architecture, the second one in float32.
    """
    found = []
    for layer in [*table_sizes(models[0]), *linears(models[0])]:
        name = layer if isinstance(layer, str) else layer.name
        stored, original = (stored_matrix(*model, layer) for model in zip(models, tensors, strict=True))
        sizes = (stored_bytes(held, name) for held in tensors)
        error = matrix_error(stored, original.weights)
        found.append(LayerError(name, stored.scheme, stored.weights.shape, *sizes, *error))
    return found


def matrix_error(stored: StoredMatrix, original: np.ndarray) -> tuple[float, float, list[tuple[int, float]]]:
    """(signal-to-noise ratio, clipped share, worst columns) as a LayerError has them; `original`: [depth, columns]."""
    weights = original.astype(np.float64)
    signal = np.square(weights).sum(axis=0)
    noise = np.square(weights - stored.weights).sum(axis=0)
    columns = decibels(signal, noise)
    order = np.argsort(columns, kind="stable")[:WORST]
    clipped = (np.abs(weights) > stored.reach).mean()
    worst = [(int(column), float(columns[column])) for column in order if noise[column] > 0]
    return float(decibels(signal.sum(), noise.sum())), float(clipped), worst


def decibels(signal, noise) -> np.ndarray:
    """10 log10(signal / noise); infinite where there is no noise. Noise where there was nothing is -999."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(noise > 0, np.maximum(10 * np.log10(signal / noise), -999), np.inf)
    return found
