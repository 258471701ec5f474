"""Weighted sums of rows: out = weight x, or out = out + weight x. Product and sum are rounded one after the other."""

from cpunmt.simd.jit import address, count, kernel, real
from cpunmt.simd.vector import broadcast, load, store


@kernel
def add_weighted(x: address, length: count, weight: real, more: count, out: address):
    """Adds `weight` times float32 x [length], a multiple of 16, to float32 `out`; if `more` is 0, replaces `out`."""
    factor = broadcast(weight)
    for j in range(0, length, 16):
        product = load(x, j) * factor
        if more:
            product = load(out, j) + product
        store(out, j, product)
