"""Defines `quantize.rounding.rounding` step by step: rounding with feedback."""

import numpy as np


def round_with_feedback_reference(weights, scales, h, nearest) -> np.ndarray:
    """Implements optimal brain surgery: after each row, the remaining ones are optimized."""
    w, made = weights / scales.astype(np.float64), None
    left = list(np.argsort(-np.diag(h), kind="stable"))
    while left:
        k = left.pop(0)
        q = nearest(w[k])
        made = np.zeros(w.shape, q.dtype) if made is None else made
        made[k] = q
        # least (w - q)^T h (w - q) with row k fixed: h[left, left] step = h[left, k] (w[k] - q)
        if left:
            w[left] += np.linalg.solve(h[np.ix_(left, left)], np.outer(h[left, k], w[k] - q))
    return made


def descend_reference(weights, q, scales, h, nearest) -> np.ndarray:
    """Like `descend`, but computes the error of the product anew for every weight."""
    w, made = weights / scales.astype(np.float64), q.copy()
    for k in range(len(q)):
        made[k] = nearest(made[k] + (h[k] @ (w - made)) / h[k, k])
    return made


def lost(weights: np.ndarray, q: np.ndarray, scales: np.ndarray, h: np.ndarray) -> np.ndarray:
    """Returns the loss of each column, float64."""
    error = weights - q * scales.astype(np.float64)
    return (error * (h @ error)).sum(axis=0)
