"""IEEE float32 arithmetic in NumPy: a fused multiply-add, and the unit of rounding."""

import numpy as np

UNIT = 2.0**-24  # relative error of one rounding to float32
TINY = 2.0**-149  # and its absolute error where the result is denormal


def fma(x, y, z) -> np.ndarray:
    """Computes x * y + z with one rounding, float32 [broadcast shape]; finite operands, no overflow.

    The product is exact in float64; the sum is rounded to odd there (Boldo and Melquiond 2008, "Emulation of a FMA and
    correctly rounded sums"), so rounding it again to float32 equals rounding once.
    """
    product = np.float64(1) * np.asarray(x, np.float32) * np.asarray(y, np.float32)
    product, z = np.broadcast_arrays(product, np.asarray(z, np.float32).astype(np.float64))
    total = product + z
    part = total - product
    error = (product - (total - part)) + (z - part)  # Knuth's two-sum: total + error is exact
    even = (total.view(np.int64) & 1) == 0
    toward = np.where(error > 0, np.inf, -np.inf)
    odd = np.where((error != 0) & even, np.nextafter(total, toward), total)
    return odd.astype(np.float32)


def same_bits(x: np.ndarray, y: np.ndarray) -> bool:
    """Returns whether two float32 arrays are equal bit by bit."""
    return x.shape == y.shape and np.array_equal(x.view(np.uint32), y.view(np.uint32))
