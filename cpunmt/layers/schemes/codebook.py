"""Conversion of float32 weights to 4 bits: the number of one of 16 levels, times a scale per output column.

A codebook is int8 [16], in any order; a level may occur twice. Decoding is a look-up in 16 bytes, of any values,
and levels are small integers, so a product with int8 activations is that of int8 weights, exactly.
"""

import numpy as np

# scales to try, relative to the one that maps a column's largest weight to the largest level: a lower one clips
# outliers, a higher one leaves the largest weight between two levels
_TRIED = 2.0 ** np.linspace(-3, 0.5, 29)
_REFINED = 8  # rounds of Lloyd's iteration, from the best of them


def quantize_columns(
    weights: np.ndarray, levels: np.ndarray, per_tensor: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Finds the nearest levels, and the scales that minimize the sum of squared errors.

    Parameters
    ----------
    weights : (depth, columns) float32
    levels : int8 [16]
    per_tensor : one scale for all columns

    Returns
    -------
    (depth, columns) int8, all of them levels, and (columns,) float32; weight = scale * level
    """
    if per_tensor:
        scales = np.repeat(best_scales(weights.reshape(-1, 1), levels), weights.shape[1])
    else:
        scales = best_scales(weights, levels)
    return nearest(weights / scales, levels), scales


def nearest(x: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Returns the level nearest to each x, the larger of two equally near: int8 like `x`."""
    order: np.ndarray = np.unique(levels)
    found: np.ndarray = order[np.searchsorted(_borders(order), x, side="right")]
    return found


def best_scales(weights: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Returns the scale of each column with the least error: sum_k (w[k, c] - scale[c] level)^2.

    For given levels the best scale is a quotient of sums, for a given scale the best level is the nearest. Each in
    turn (Aji and Heafield 2020, https://aclanthology.org/2020.ngt-1.4) ends in one of many local optima, so this
    function tries many beginnings. Sums over the weights of one level are differences of running sums over the sorted
    column.

    Parameters: see `quantize_columns`. Returns float32 [columns]; 1 for a column of zeros.
    """
    order = np.unique(levels).astype(np.float64)
    borders, top = _borders(order), np.abs(order).max()
    scales = np.ones(weights.shape[1], np.float32)
    for c in range(weights.shape[1]):
        column = weights[:, c].astype(np.float64)
        largest = np.abs(column).max()
        if np.float32(largest / top) > 0:
            scales[c] = _best_scale(column, order, borders, largest / top)
    return scales


def _best_scale(column: np.ndarray, levels: np.ndarray, borders: np.ndarray, widest: float) -> np.float32:
    ordered, running = np.sort(column), np.zeros(len(column) + 1)
    np.cumsum(ordered, out=running[1:])
    best: np.float32 = np.float32(widest)
    most, tried = 0.0, widest * _TRIED
    for _ in range(_REFINED):
        ends = np.zeros((len(tried), len(borders) + 2), np.int64)
        ends[:, 1:-1] = np.searchsorted(ordered, tried[:, None] * borders)
        ends[:, -1] = len(column)
        sums = running[ends]
        mass, moment = ends[:, 1:] - ends[:, :-1], sums[:, 1:] - sums[:, :-1]  # of the weights of each level
        across, square = moment @ levels, mass @ levels**2
        gained = np.where((square > 0) & (across > 0), across**2 / np.where(square > 0, square, 1), 0.0)
        i = int(np.argmax(gained))  # the error is sum w^2 minus this
        if not gained[i] > most or not np.float32(across[i] / square[i]) > 0:
            break
        most, best = gained[i], np.float32(across[i] / square[i])
        tried = across[i : i + 1] / square[i : i + 1]
    return best


def numbers(q: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Returns the index of each int8's level, the first of equal ones: uint8 like `q`; `levels[numbers]` is `q` again.

    Raises ValueError for an integer that is not a level.
    """
    found = np.full(256, 255, np.uint8)
    for number in range(len(levels) - 1, -1, -1):
        found[levels[number].astype(np.uint8)] = number
    made = found[q.view(np.uint8)]
    if (made == 255).any():
        raise ValueError(f"weights are not all among the levels {levels.tolist()}")
    return made


def _borders(levels: np.ndarray) -> np.ndarray:
    """Returns the midpoints between neighbours."""
    levels = levels.astype(np.float64)
    found: np.ndarray = (levels[1:] + levels[:-1]) / 2
    return found
