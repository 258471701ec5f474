"""What quantization costs a weight matrix."""

import numpy as np

from cpunmt.layers.schemes import CODEBOOKS, int8, int16


def _reach(levels) -> float:
    """A number beyond is farther from the largest level than from the middle of the two largest ones."""
    magnitudes = np.unique(np.abs(levels.astype(int)))
    return float(magnitudes[-1] + (magnitudes[-1] - magnitudes[-2]) / 2)


# of each scheme: a weight that is more than so many scales large is not rounded but clipped
REACH = {"int8": int8.LARGEST + 0.5, "int16": int16.LARGEST + 0.5}
REACH |= {scheme: _reach(levels) for scheme, levels in CODEBOOKS.items()}


def signal_to_noise(weights: np.ndarray, q: np.ndarray, scales: np.ndarray) -> float:
    """10 log10(sum w^2 / sum (w - scale q)^2), in decibels; inf where nothing was lost."""
    w = weights.astype(np.float64)
    noise = ((w - q * scales.astype(np.float64)) ** 2).sum()
    signal = (w**2).sum()
    return float(10 * np.log10(signal / noise)) if noise else float("inf")


def clipped_share(weights: np.ndarray, scales: np.ndarray, scheme: str = "int8") -> float:
    """Share of the weights that lie outside their column's range."""
    return float((np.abs(weights) > scales * np.float32(REACH[scheme])).mean())
