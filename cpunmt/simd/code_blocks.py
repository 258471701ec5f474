"""Weights of 4 bits made int8 weights: a block of 64 codes bytes is two groups, each of 16 columns by four depths."""

from numba import types

from cpunmt.simd.dot_products import Coded, int8_products
from cpunmt.simd.emission import constant, depth_loop, function, pointer, prefetch
from cpunmt.simd.products.plain import BLOCK_BYTES

AHEAD = 2048  # bytes of codes between prefetching and reading


@function(types.void(*(types.int64,) * 4))
def decode_blocks(builder, codes, levels, blocks, out):
    """Writes the int8 levels of blocks, an even number, not 0, in the order of `kernels.matmul.packing`.

    codes     bytes [blocks, 64]: the first group's codes in the lower halves, the second's in the upper ones
    levels    int8 [16]
    out       int8 [blocks, 2, 64]
    """
    use = Coded(builder, int8_products(), levels)

    def body(pair, _):
        for i in range(2):
            block = builder.add(builder.mul(pair, constant(2)), constant(i))
            place = builder.mul(block, constant(BLOCK_BYTES))
            prefetch(builder, codes, builder.add(place, constant(AHEAD)))
            groups = use.weights(builder, codes, place, 0)
            target = builder.add(out, builder.mul(place, constant(2)))
            for j, register in enumerate(register for group in groups for register in group):
                builder.store(register, pointer(builder, target, constant(j * use.register), register.type)).align = 1
        return []

    depth_loop(builder, builder.udiv(blocks, constant(2)), [], body)
