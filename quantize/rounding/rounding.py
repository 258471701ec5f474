"""Rounding for a matrix's inputs: it minimizes the error of the product, not of the weights.

    lost = E |x W - x Q|^2 = sum_c (w_c - q_c)^T H (w_c - q_c),   H = E[x^T x]

Rows are rounded in sequence, and the remaining rows compensate for each row's error as well as possible: Frantar et al.
2022, "GPTQ" (https://arxiv.org/abs/2210.17323), after Hassibi and Stork's optimal brain surgeon. Then (for 4 bits,
where levels are far apart) the scales are fitted to the levels, and one more pass over the rows gives each weight the
best level with all others fixed.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

BLOCK = 64  # rows whose errors are collected before they reach the rows below
_COLUMNS = 2048  # at a time: columns do not depend on each other, and memory is bounded
# of the mean of H's diagonal, added to it: other inputs than the text's may occur
DAMPING = 0.01


def damped(moments: np.ndarray, share: float = DAMPING) -> np.ndarray:
    """Returns H in float64, safely positive definite; `share` of its mean variance is added to every input's."""
    h = moments.astype(np.float64)
    mean = np.trace(h) / len(h)
    return h + np.eye(len(h)) * (share * mean if mean > 0 else 1.0)


def round_with_feedback(
    weights: np.ndarray, scales: np.ndarray, h: np.ndarray, nearest: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """Returns integers [depth, columns] for given scales.

    Parameters
    ----------
    weights : float32 [depth, columns]
    scales : float32 [columns]
    h : float64 [depth, depth], positive definite
    nearest : weights divided by their scales -> the nearest allowed integers, int8 or int16
    """
    order = np.argsort(-np.diag(h), kind="stable")  # the strongest inputs first, while all others can still compensate
    # the inverse of h is u^T u with u upper triangular: row k maps row k's error to the rows after it
    u = np.linalg.inv(np.linalg.cholesky(h[np.ix_(order, order)][::-1, ::-1]))[::-1, ::-1]
    made: np.ndarray | None = None
    for begin in range(0, weights.shape[1], _COLUMNS):
        columns = slice(begin, begin + _COLUMNS)
        found = _fed_back(weights[order, columns] / scales[columns].astype(np.float64), u, nearest)
        if made is None:
            made = np.empty(weights.shape, found.dtype)
        made[order, columns] = found
    assert made is not None  # a matrix has columns
    return made


def _fed_back(w: Any, u: Any, nearest: Any) -> Any:
    """Rounds the rows of `w` from the first to the last; overwrites `w`."""
    made = []
    for begin in range(0, len(w), BLOCK):
        end = min(begin + BLOCK, len(w))
        errors = np.empty((end - begin, w.shape[1]))
        for k in range(begin, end):
            q = nearest(w[k])
            made.append(q)
            errors[k - begin] = (w[k] - q) / u[k, k]
            w[k + 1 : end] -= np.outer(u[k, k + 1 : end], errors[k - begin])
        w[end:] -= u[begin:end, end:].T @ errors
    return np.array(made)


def fitted_scales(weights: np.ndarray, q: np.ndarray, scales: np.ndarray, h: np.ndarray) -> np.ndarray:
    """Returns the best scales for given integers, float32 [columns]; `scales` if the best is not positive."""
    product = h @ q
    across, square = (product * weights).sum(axis=0), (product * q).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        best = (across / square).astype(np.float32)
    return np.where(np.isfinite(best) & (best > 0), best, scales)


def descend(
    weights: np.ndarray,
    q: np.ndarray,
    scales: np.ndarray,
    h: np.ndarray,
    nearest: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """Makes one pass over the rows of `q`: each weight becomes the best integer with all others fixed.

    Parameters: see `round_with_feedback`. The loss never grows.
    """
    made: np.ndarray = q.copy()
    variance = np.diag(h)
    for first in range(0, weights.shape[1], _COLUMNS):
        columns = slice(first, first + _COLUMNS)
        now = made[:, columns]
        gradient = h @ (weights[:, columns] / scales[columns].astype(np.float64) - now)
        for begin in range(0, len(q), BLOCK):
            rows = slice(begin, begin + BLOCK)
            before, block = now[rows].astype(np.float64), h[rows, rows]
            slope = gradient[rows]
            for k in range(len(before)):
                new = nearest(before[k] + slope[k] / variance[begin + k])
                slope[k + 1 :] -= np.outer(block[k + 1 :, k], new - before[k])
                now[begin + k] = new
            gradient[begin + BLOCK :] -= h[begin + BLOCK :, rows] @ (now[rows] - before)
    return made
