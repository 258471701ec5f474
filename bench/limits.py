"""What the core can do at best: kernels that do nothing else.

int8_peak    the instructions of the int8 tile on registers alone: no load but the broadcast row, no store
float_peak   fused multiply-adds on registers alone
read_memory  reads a buffer, 16 lanes at a time
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from cpunmt.jit import address, count, kernel
from cpunmt.kernels.int8_matmul import RELU, int8_linear
from cpunmt.kernels.quantize_rows import quantize_rows
from cpunmt.simd.emission import depth_loop
from cpunmt.simd.int8_instructions import GROUP, Generic, instructions
from cpunmt.simd.isa import Isa, current
from cpunmt.simd.vector import fma, load, load_ints, splat, store, store_ints

SUMS = {Isa.AVX512_VNNI: 24, Isa.AVX_VNNI: 12, Isa.AVX2: 10, Isa.GENERIC: 8}[current()]  # registers of sums


def _peak(signed):
    """Emit `steps` rounds of the tile's instructions on independent registers of sums."""
    use = instructions(signed)

    @intrinsic
    def run(typing_context, data, steps, out):
        def generate(context, builder, sig, args):
            data, steps, out = args
            zero = ir.Constant(ir.IntType(64), 0)
            row = use.row(builder, data, zero, zero)
            start = [ir.Constant(use.sums, [i + 1] * use.sums.count) for i in range(SUMS)]

            def body(step, sums):
                # the sums are the weights of the next round: nothing can be moved out of the loop
                made = []
                for value in sums:
                    if isinstance(use, Generic):
                        weights = [[value] * GROUP]
                    else:
                        kind = use.operand if hasattr(use, "operand") else use._bytes
                        weights = [builder.bitcast(value, kind)]
                    made += use.add_products(builder, [value], row, weights)
                return made

            for i, value in enumerate(depth_loop(builder, steps, start, body)):
                pointer = builder.inttoptr(builder.add(out, ir.Constant(ir.IntType(64), 64 * i)), use.sums.as_pointer())
                builder.store(value, pointer).align = 4
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.int64), generate

    return run, SUMS * use.sums.count * GROUP


_signed, PRODUCTS = _peak(True)  # multiplications and additions of one step
_unsigned, _ = _peak(False)


@kernel
def int8_peak(data: address, steps: count, out: address, signed: count):
    """`steps` rounds of PRODUCTS multiply-adds each; `data` is 64 bytes, `out` has room for 64 * SUMS bytes."""
    if signed:
        _signed(data, steps, out)
    else:
        _unsigned(data, steps, out)


FLOAT_PRODUCTS = 6 * 16


@kernel
def float_peak(data: address, steps: count, out: address):
    """`steps` rounds of FLOAT_PRODUCTS multiply-adds each."""
    a, b = load(data, 0), load(data, 16)
    s0, s1, s2, s3, s4, s5 = a, b, a + b, a - b, splat(np.float32(1.0)), splat(np.float32(2.0))
    for _ in range(steps):
        s0 = fma(s0, a, b)
        s1 = fma(s1, a, b)
        s2 = fma(s2, a, b)
        s3 = fma(s3, a, b)
        s4 = fma(s4, a, b)
        s5 = fma(s5, a, b)
    store(out, 0, s0 + s1 + s2 + s3 + s4 + s5)


@kernel
def read_memory(data: address, size: count, times: count, out: address):
    """Read `size` bytes (a multiple of 256), `times` times."""
    s0, s1, s2, s3 = load_ints(data, 0), load_ints(data, 0), load_ints(data, 0), load_ints(data, 0)
    for _ in range(times):
        for i in range(0, size // 4, 64):
            s0 = s0 + load_ints(data, i)
            s1 = s1 + load_ints(data, i + 16)
            s2 = s2 + load_ints(data, i + 32)
            s3 = s3 + load_ints(data, i + 48)
    store_ints(out, 0, s0 + s1 + s2 + s3)


@kernel
def repeat_linear_relu_quantize(
    times: count,
    linear: address,
    q: address,
    scales: address,
    rows: count,
    columns: count,
    out: address,
    next_q: address,
):
    """A product as a feed-forward layer uses it: dequantize, bias, ReLU, and quantize for the next product."""
    for _ in range(times):
        int8_linear(linear, q, scales, rows, out, RELU, 1)
        quantize_rows(out, rows, columns, np.float32(0.0), next_q, next_q + 2 * rows * columns)
