"""A float32 checkpoint -> a packed model's tensors, and what quantization cost each matrix."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from cpunmt.formats.conversion import packed_tensors
from cpunmt.model.config import ModelConfig
from quantize.rounding.ranges import Range, quantize
from quantize.rounding.weights import clipped_share, signal_to_noise


class LayerError(NamedTuple):
    """What quantization cost one weight matrix."""

    name: str
    shape: tuple[int, int]
    signal_to_noise: float  # decibels
    clipped: float  # share of weights outside their column's range
    scheme: str = "int8"


def pack_tensors(
    config: ModelConfig,
    tensors: Mapping[str, np.ndarray],
    scheme: str,
    sigmas: float | None = 7.0,
    *,
    schemes: Mapping[str, str] | None = None,
    quantizer: Callable[[str, np.ndarray, str], tuple[np.ndarray, np.ndarray]] | None = None,
    alphas: Mapping[str, float] | None = None,
) -> tuple[ModelConfig, dict[str, np.ndarray], list[LayerError]]:
    """The packed model's config, its tensors in file order, and the error of each matrix that became integers here.

    Parameters
    ----------
    sigmas : standard deviations of an int8 column's range at most, None: its maximum; unless there is a `quantizer`

    The others: see `cpunmt.formats.conversion.packed_tensors`.
    """
    errors = []
    chosen = Range("max") if sigmas is None else Range(sigmas=sigmas)

    def noting(name, weights, scheme):
        q, scales = quantizer(name, weights, scheme) if quantizer else quantize(weights, scheme, chosen)
        measured = signal_to_noise(weights, q, scales), clipped_share(weights, scales, scheme)
        errors.append(LayerError(name, weights.shape, *measured, scheme))
        return q, scales

    return *packed_tensors(config, tensors, scheme, schemes=schemes, quantizer=noting, alphas=alphas), errors
