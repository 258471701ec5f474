"""A float32 checkpoint -> a packed model's tensors, and what quantization cost each matrix."""

from collections.abc import Callable, Mapping

import numpy as np

from cpunmt.formats.conversion import packed_tensors
from cpunmt.model.config import ModelConfig
from quantize.checkpoints.layer_errors import REACH, LayerError, layer_error
from quantize.rounding.ranges import Range, quantize


def pack_tensors(
    config: ModelConfig,
    tensors: Mapping[str, np.ndarray],
    scheme: str,
    *,
    schemes: Mapping[str, str] | None = None,
    quantizer: Callable[[str, np.ndarray, str], tuple[np.ndarray, np.ndarray]] | None = None,
    alphas: Mapping[str, float] | None = None,
) -> tuple[ModelConfig, dict[str, np.ndarray], list[LayerError]]:
    """The packed model's config, its tensors in file order, and the error of each matrix that became integers here.

    Parameters: see `cpunmt.formats.conversion.packed_tensors`; without a `quantizer` the default `Range` counts.
    """
    errors = []

    def noting(name, weights, scheme):
        q, scales = quantizer(name, weights, scheme) if quantizer else quantize(weights, scheme, Range())
        exact = scales.astype(np.float64)
        errors.append(layer_error(name, scheme, weights, q * exact, REACH[scheme] * exact))
        return q, scales

    return *packed_tensors(config, tensors, scheme, schemes=schemes, quantizer=noting, alphas=alphas), errors
