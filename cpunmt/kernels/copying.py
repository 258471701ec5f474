"""Copies of float rows."""

from cpunmt.simd.intrinsics import load_f32, store_f32
from cpunmt.simd.jit import address, count, kernel
from cpunmt.simd.vector import load, store


@kernel
def copy_floats(source: address, length: count, target: address):
    """Copies float32 [length]."""
    whole = length // 16 * 16
    for j in range(0, whole, 16):
        store(target, j, load(source, j))
    for j in range(whole, length):
        store_f32(target, j, load_f32(source, j))
