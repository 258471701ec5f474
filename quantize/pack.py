"""A float32 checkpoint -> a packed model's tensors, and what quantization cost each matrix."""

from typing import NamedTuple

import numpy as np

from cpunmt.config import ModelConfig
from cpunmt.conversion import QUANTIZERS, packed_tensors
from cpunmt.schemes.int8 import quantize_columns
from quantize.weights import clipped_share, signal_to_noise


class LayerError(NamedTuple):
    """What quantization cost one weight matrix."""

    name: str
    shape: tuple[int, int]
    signal_to_noise: float  # decibels
    clipped: float  # share of weights outside their column's range


def pack_tensors(
    config: ModelConfig, tensors: dict[str, np.ndarray], scheme: str, sigmas: float | None = 7.0
) -> tuple[ModelConfig, dict[str, np.ndarray], list[LayerError]]:
    """The packed model's config, its tensors in file order, and the error of each int8 matrix.

    Parameters: see `cpunmt.conversion.packed_tensors`.
    """
    errors = []

    def quantizer(name, weights, scheme):
        q, scales = quantize_columns(weights, sigmas) if scheme == "int8" else QUANTIZERS[scheme](weights)
        errors.append(
            LayerError(name, weights.shape, signal_to_noise(weights, q, scales), clipped_share(weights, scales))
        )
        return q, scales

    return *packed_tensors(config, tensors, scheme, quantizer=quantizer), errors
