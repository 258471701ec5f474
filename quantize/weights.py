"""What quantization costs a weight matrix."""

import numpy as np

from cpunmt.schemes.int8 import LARGEST


def signal_to_noise(weights: np.ndarray, q: np.ndarray, scales: np.ndarray) -> float:
    """10 log10(sum w^2 / sum (w - scale q)^2), in decibels; inf where nothing was lost."""
    w = weights.astype(np.float64)
    noise = ((w - q * scales.astype(np.float64)) ** 2).sum()
    signal = (w**2).sum()
    return float(10 * np.log10(signal / noise)) if noise else float("inf")


def clipped_share(weights: np.ndarray, scales: np.ndarray) -> float:
    """Share of the weights that lie outside their column's range."""
    return float((np.abs(weights) > scales * np.float32(LARGEST + 0.5)).mean())
