"""Conversion of float32 weights to int16 and one scale per output column, as fine as int32 sums without overflow allow.

A product multiplies the weights with activations that are integers of at most `reach` in absolute value. The columns'
scales guarantee, rounding included, for all such activations

    |sum_k a[k] q[k, c]| <= reach * sum_k |q[k, c]| <= 2^31 - 1

Loading a model checks it again. A bound on each weight alone, as in Devlin 2017 (https://arxiv.org/abs/1705.01991,
section 4.1), would leave 10 bits for both operands at the depths of feed-forward networks. Few weights are near the
largest, so this bound leaves 12 to 14.
"""

import numpy as np

LARGEST = 32767
LARGEST_SUM = 2**31 - 1
DEVLIN_BITS, DEVLIN_REACH = 10, 1.0  # fraction bits of a weight, and the range to which training clips weights
# more bits for activations in short sums, so that the errors of both operands are about equal
_REACHES = ((512, 4095), (2048, 2047), (8192, 1023))


def activation_reach(depth: int) -> int:
    """Returns the largest absolute value of integer activations in sums of `depth` products."""
    return next((reach for longest, reach in _REACHES if depth <= longest), 511)


def quantize_columns(weights: np.ndarray, reach: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Converts to symmetric int16 with one scale per column, the finest that cannot overflow.

        room     = floor((2^31 - 1) / reach)
        scale[c] = max(max_k |w[k, c]| / 32767, sum_k |w[k, c]| / (room - depth / 2 - 1))     1 for a column of zeros
        q[k, c]  = round(w[k, c] / scale[c]), half to even, in [-32767, 32767]

    Rounding adds at most depth / 2 to a column's sum, so sum_k |q[k, c]| <= room always.

    Parameters
    ----------
    weights : (depth, columns) float32
    reach : the largest integer activation; None: that of the depth

    Returns
    -------
    (depth, columns) int16 and (columns,) float32; weight = scale * q
    """
    magnitudes = np.abs(weights, dtype=np.float64)
    wanted = np.maximum(magnitudes.max(axis=0) / LARGEST, magnitudes.sum(axis=0) / _room(len(weights), reach))
    return _rounded(weights, _representable(wanted))


def fixed_point(weights: np.ndarray, reach: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Converts to Devlin's fixed point: weights clipped to [-1, 1], and one scale for the matrix, a power of two.

    The scale is 2^-10, or the smallest power of two above it for which no column can overflow. For models that
    were trained with this clipping; parameters and results are those of `quantize_columns`.
    """
    clipped = np.clip(weights, -DEVLIN_REACH, DEVLIN_REACH)
    most = np.abs(clipped, dtype=np.float64).sum(axis=0).max() / _room(len(weights), reach)
    exponent = max(-DEVLIN_BITS, int(np.ceil(np.log2(most)))) if most > 0 else -DEVLIN_BITS
    return _rounded(clipped, np.full(weights.shape[1], 2.0**exponent, np.float32))


def overflow_free(q: np.ndarray, reach: int, axis: int | tuple[int, ...] = 0) -> bool:
    """Returns whether all sums of activations up to `reach` times a column of `q` fit int32.

    A column's integers lie along `axis`. The answer is exact: it covers partial sums in any order, and -32768, whose
    absolute value does not fit int16.
    """
    if q.size == 0:
        return True
    if q.min() < -LARGEST:
        return False
    return int(np.abs(q).sum(axis=axis, dtype=np.int64).max()) * reach <= LARGEST_SUM


def _room(depth: int, reach: int | None) -> float:
    """Returns the largest sum of a column's absolute values before rounding."""
    room = LARGEST_SUM // (reach or activation_reach(depth)) - depth / 2 - 1
    if room < 1:
        raise ValueError(f"sums of {depth} products with activations up to {reach} leave no bits for the weights")
    return room


def _representable(wanted: np.ndarray) -> np.ndarray:
    """Returns float32 scales, none smaller than `wanted`; 1 for empty columns."""
    scales: np.ndarray = wanted.astype(np.float32)
    scales = np.where(scales < wanted, np.nextafter(scales, np.float32(np.inf)), scales)
    scales = np.where(scales > 0, scales, np.float32(1))
    return scales


def _rounded(weights: np.ndarray, scales: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    q = np.rint(weights.astype(np.float64) / scales)
    return q.astype(np.int16), scales
