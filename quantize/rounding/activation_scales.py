"""Scales of activations that are found beforehand, on calibration text: what x is multiplied with before it is rounded.

    alpha = 127 / (mean + 1.1 standard deviations of the rows' maxima)    as Marian's tools do it
    alpha = 127 / (a percentile of the rows' maxima)

What lies beyond is clipped.
"""

from collections.abc import Mapping

import numpy as np

from cpunmt.layers.schemes.int8 import LARGEST
from cpunmt.model.config import ModelConfig
from cpunmt.model.tensors import linears, output_table
from quantize.rounding.calibration import InputStatistics

DEVIATIONS = 1.1


def static_alphas(
    config: ModelConfig, statistics: Mapping[str, InputStatistics], percentile: float | None = None
) -> dict[str, float]:
    """Name of each weight -> alpha, as `conversion.packed_tensors` takes them. `percentile` None: as Marian."""
    found = {}
    for linear in linears(config):
        alpha = _alpha(statistics[linear.name].peaks, percentile)
        found |= {weight: alpha for weight, _ in linear.parts}
    table = output_table(config)
    return found | {table: _alpha(statistics[table].peaks, percentile)}


def _alpha(peaks, percentile):
    peaks = peaks.astype(np.float64)
    reach = peaks.mean() + DEVIATIONS * peaks.std() if percentile is None else np.percentile(peaks, percentile)
    return float(np.float32(LARGEST / reach)) if reach > 0 else 1.0
