"""A network whose products are 8-bit, with other columns than the runtime's.

The quantizer of Kim et al. 2019 (https://aclanthology.org/D19-5632), section 4.1, is `offset_columns`: each column of
the weights has a scale and an offset, its integers cover mean +- 7 standard deviations, and weights beyond saturate.

    low, high   mean - sigmas * deviation, mean + sigmas * deviation; or the column's least and largest weight
    scale       (high - low) / 255
    offset      round(-low / scale)
    q           round(w / scale) + offset, in [0, 255];   w is about scale (q - offset)

Rows of activations have the same form, by their least and largest number. The paper does not say whether its rows share
a range; here each has its own. Embeddings, the output layer, and products of two activations stay float32.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from cpunmt.model.config import ModelConfig
from quantize.reference.network import Reference

LEVELS = 255
Columns = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]  # weights -> integers less their offset, scales


def offset_columns(weights: np.ndarray, sigmas: float | None = 7.0) -> tuple[np.ndarray, np.ndarray]:
    """Returns q - offset of float32 weights [depth, columns], and scales [columns]. `sigmas` None: minimum to
    maximum."""
    exact = weights.astype(np.float64)
    if sigmas is None:
        return _between(exact, exact.min(axis=0), exact.max(axis=0))
    middle, reach = exact.mean(axis=0), sigmas * exact.std(axis=0)
    return _between(exact, middle - reach, middle + reach)


def _between(x: Any, low: Any, high: Any) -> tuple[np.ndarray, np.ndarray]:
    """Quantizes numbers of one range per column."""
    scales = (high - low) / LEVELS
    scales = np.where(scales > 0, scales, np.where(low == 0, 1, np.abs(low)))  # equal numbers are exact
    offsets = np.rint(-low / scales)
    q = np.clip(np.rint(x / scales) + offsets, 0, LEVELS)
    return q - offsets, scales


class IntegerReference(Reference):
    """The network with 8-bit products. `columns` quantizes its matrices."""

    def __init__(self, config: ModelConfig, tensors: Mapping[str, np.ndarray], columns: Columns) -> None:
        super().__init__(config, tensors)
        self._columns = columns
        self._quantized: dict[str, tuple[np.ndarray, np.ndarray]] = {}

    def product(self, name: str, x: np.ndarray) -> Any:
        """Returns x W, float32, of their integers unless W is a table. Sums are exact in float64."""
        if name in self.tables.values():
            return super().product(name, x)
        if name not in self._quantized:
            self._quantized[name] = self._columns(self.tensors[name])
        weights, scales = self._quantized[name]
        rows = x.T.astype(np.float64)
        q, row_scales = _between(rows, rows.min(axis=0), rows.max(axis=0))
        found: np.ndarray = (q.T @ weights * scales * row_scales[:, None]).astype(np.float32)
        return found
