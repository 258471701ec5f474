"""Conversion of float32 weights to int8 and one scale per output column.

A column's range is its largest weight. Kim et al. 2019, "From Research to Production and Back", section 4.1, use seven
standard deviations around the mean, so that a few outliers do not reduce the resolution of all other weights
(`quantize.reference.integers`). `sigmas` only clips: a column whose largest weight lies inside keeps its own maximum.
It is not the default, since trained models gain nothing measurable, and one with outliers can lose most of its weights'
energy (docs/quantization.md).
"""

import numpy as np

LARGEST = 127
STATIC_OFFSET = 127  # offset in the sums of activations with a stored scale; see static_scales


def quantize_columns(weights: np.ndarray, sigmas: float | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Converts to symmetric int8 with one scale per column.

        scale[c] = that of `column_scales`
        q[k, c]  = round(w[k, c] / scale[c]), half to even, clipped to [-127, 127]

    Parameters
    ----------
    weights : (depth, columns) float32
    sigmas : the range, in standard deviations, at most; None: all weights

    Returns
    -------
    (depth, columns) int8 and (columns,) float32; weight = scale * q
    """
    scales = column_scales(weights, sigmas)
    return nearest(weights / scales), scales


def column_scales(weights: np.ndarray, sigmas: float | None = None) -> np.ndarray:
    """Returns the scale of each column's integers: float32 (columns,).

    range[c] = min(max_k |w[k, c]|, sigmas * std_k(w[k, c]))       sigmas None: the maximum alone
    scale[c] = range[c] / 127                                      1 for a column of zeros
    """
    reach = np.abs(weights).max(axis=0)
    if sigmas is not None:
        deviation = weights.std(axis=0, dtype=np.float64).astype(np.float32)
        clipped = np.float32(sigmas) * deviation
        reach = np.where(clipped > 0, np.minimum(reach, clipped), reach)  # a constant column has no deviation
    scales = np.where(reach > 0, reach / np.float32(LARGEST), np.float32(1)).astype(np.float32)
    found: np.ndarray = np.where(scales > 0, scales, np.float32(1))
    return found  # a range too small for float32


def nearest(x: np.ndarray) -> np.ndarray:
    """Returns the integer nearest to each x, half to even, in [-127, 127]: int8 like `x`."""
    found: np.ndarray = np.clip(np.rint(x), -LARGEST, LARGEST).astype(np.int8)
    return found


def static_scales(
    sums: np.ndarray, multipliers: np.ndarray, alpha: float, bias: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the factors and biases that convert products to floats if the activations' scale is stored, as in Marian.

        y[c] = float(sum_k (q[k] + 127) w[k, c]) * scale[c] + bias'[c]

    Marian multiplies unsigned activations and removes the offset with the bias. Only the rounding differs, but in most
    sentences it moves an activation to the next integer: any other rounding changes one translation in seven of a small
    model.

    Parameters
    ----------
    sums : int32 [columns], of each column's integers
    multipliers : float32 [columns], factors of the weights
    alpha : factor of the activations
    bias : float32 [columns]

    Returns
    -------
    scale and bias', float32 [columns]
    """
    one, most, factor = np.float32(1), np.float32(LARGEST), np.float32(alpha)
    multipliers = multipliers.astype(np.float32)
    back = -(most / factor * (most / multipliers)) / most
    return one / (factor * multipliers), sums.astype(np.float32) * back + bias
