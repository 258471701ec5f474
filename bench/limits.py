"""The limits of the core, by kernels that do nothing else, and sequences of kernels that are timed as one.

int8_peak, int16_peak, float_peak    the instructions of the tiles on registers alone: no load, no store
matrix_peak                          the same of tiles of matrix registers, on machines with them
read_memory                          reads a buffer, 16 lanes at a time
"""

import numpy as np
from llvmlite import ir
from numba import types

from cpunmt.kernels.attention import cross_attention_row
from cpunmt.kernels.candidates import gather_output
from cpunmt.kernels.matmul.int8_matmul import AFFINE, RELU, int8_linear
from cpunmt.kernels.matmul.int16_matmul import int16_linear
from cpunmt.kernels.matmul.packing import PANEL
from cpunmt.kernels.matmul.quantize_rows import quantize_rows, quantize_rows16
from cpunmt.kernels.matmul.row_products import score_pieces
from cpunmt.kernels.matmul.sparse_matmul import list_row, sparse_linear, sparse_row
from cpunmt.kernels.records import LINEAR, SCRATCH, SETTINGS
from cpunmt.layers.linear import linear
from cpunmt.simd.dot_products import Generic, int8_products, int16_products
from cpunmt.simd.emission import FLOATS, call_llvm, constant, depth_loop, function, load, multiply_add, opaque, pointer
from cpunmt.simd.intrinsics import address_of, at, load_i64
from cpunmt.simd.jit import address, count, kernel, real
from cpunmt.simd.matrix_tile import DEPTHS, ROWS, begin, end
from cpunmt.simd.tile_shapes import FLOAT32, INT8, INT16, MATRIX_ROWS
from cpunmt.simd.vector import bits_to_floats, float_bits_of, store
from cpunmt.simd.vector import load as load_floats

LINEAR_BYTES = LINEAR.itemsize


def _rounds(kinds, step):
    """Returns a function `run(data, steps, out)`: `steps` rounds of `step(builder, operands, sums)` on registers of
    sums.
    """

    @function(types.void(*(types.int64,) * 3), doc=_rounds.__doc__)
    def run(builder, data, steps, out):
        start = [ir.Constant(kind, [i + 1] * kind.count) for i, kind in enumerate(kinds)]
        operands = step.operands(builder, data)
        made = depth_loop(builder, steps, start, lambda _, sums: step(builder, operands, sums))
        for i, value in enumerate(made):
            builder.store(value, pointer(builder, out, constant(64 * i), value.type)).align = 4

    return run


class _Products:
    """The instructions of an integer tile."""

    def __init__(self, use):
        self.use = use

    def operands(self, builder, data):
        zero = constant(0)
        row = self.use.row(builder, [data] * self.use.unit, zero, zero)[0]
        return row, self.use.weights(builder, data, zero, 0)[0]

    def __call__(self, builder, operands, sums):
        (row, weights), width, made = operands, self.use.parts // self.use.pieces, []
        for i in range(0, len(sums), width):
            # keeps the code in the loop: the sums, or opaque registers, are the weights of the next round
            if isinstance(self.use, Generic):
                weights = [[value] * self.use.depths for value in sums[i : i + width]]
            else:
                weights = [_renewed(builder, operand) for operand in weights]
            made += self.use.add_products(builder, sums[i : i + width], row, weights)
        return made


def _renewed(builder, operand):
    """Returns the same registers, opaque to the compiler."""
    return (
        [opaque(builder, each) for each in operand] if isinstance(operand, list | tuple) else opaque(builder, operand)
    )


class _MultiplyAdds:
    """The instruction of the float tile."""

    def operands(self, builder, data):
        return [load(builder, data, constant(64 * i), FLOATS) for i in range(2)]

    def __call__(self, builder, operands, sums):
        return [multiply_add(builder, *operands, value) for value in sums]


@function(types.void(*(types.int64,) * 2))
def _matrix(builder, data, steps):
    """Emits `steps` rounds of the four products of a tile of two blocks and two panels: of registers 4, 5 with 6, 7."""

    def run(name, *operands):
        call_llvm(builder, f"llvm.x86.{name}", ir.VoidType(), operands)

    def multiply(_, values):
        for sums, (rows, weights) in enumerate(((4, 6), (5, 6), (4, 7), (5, 7))):
            run("tdpbusd", *(ir.Constant(ir.IntType(8), number) for number in (sums, rows, weights)))
        return values

    for number in range(8):
        place = pointer(builder, data, constant(0), ir.IntType(8))
        run("tileloadd64", ir.Constant(ir.IntType(8), number), place, constant(0))
    depth_loop(builder, steps, [], multiply)


_use8, _use16 = int8_products(INT8.tile_rows), int16_products()
# number of registers of sums, as in the largest tile
_sums8, _sums16 = INT8.most_sums * _use8.parts // _use8.unit, INT16.most_sums * _use16.parts
_int8 = _rounds([_use8.sums] * _sums8, _Products(_use8))
_int16 = _rounds([_use16.sums] * _sums16, _Products(_use16))
_float = _rounds([FLOATS] * FLOAT32.most_sums, _MultiplyAdds())
# multiplications of one round
PRODUCTS8 = _sums8 // _use8.parts * _use8.unit * PANEL * _use8.group_bytes
PRODUCTS16 = _sums16 // _use16.parts * PANEL * _use16.group_bytes // 2
FLOAT_PRODUCTS = FLOAT32.most_sums * 16
MATRIX_PRODUCTS = 4 * ROWS * PANEL * DEPTHS


@kernel
def int8_peak(data: address, steps: count, out: address):
    """Runs `steps` rounds of PRODUCTS8 multiply-adds each; `data` is 64 bytes, `out` has room for 2 KB."""
    _int8(data, steps, out)


@kernel
def int16_peak(data: address, steps: count, out: address):
    """Runs `steps` rounds of PRODUCTS16 multiply-adds each."""
    _int16(data, steps, out)


@kernel
def float_peak(data: address, steps: count, out: address):
    """Runs `steps` rounds of FLOAT_PRODUCTS multiply-adds each; `data` is 128 bytes."""
    _float(data, steps, out)


if MATRIX_ROWS:

    @kernel
    def matrix_peak(data: address, steps: count, out: address):
        """Runs `steps` rounds of MATRIX_PRODUCTS multiply-adds each; `data` is 64 bytes, nothing is written."""
        begin(ROWS)
        _matrix(data, steps)
        end()


@kernel
def read_memory(data: address, size: count, times: count, out: address):
    """Reads `size` bytes (a multiple of 256), `times` times."""
    first = float_bits_of(load_floats(data, 0))
    s0, s1, s2, s3 = first, first, first, first
    for _ in range(times):
        for i in range(0, size // 4, 64):
            s0 = s0 + float_bits_of(load_floats(data, i))
            s1 = s1 + float_bits_of(load_floats(data, i + 16))
            s2 = s2 + float_bits_of(load_floats(data, i + 32))
            s3 = s3 + float_bits_of(load_floats(data, i + 48))
    store(out, 0, bits_to_floats(s0 + s1 + s2 + s3))


@kernel
def repeat_linear_relu_quantize(
    times: count,
    linear: address,
    q: address,
    scales: address,
    rows: count,
    out: address,
    next_q: address,
    next_scales: address,
):
    """Runs a product as in a feed-forward layer: dequantize, bias, ReLU, and quantize for the next product."""
    for _ in range(times):
        int8_linear(linear, q, scales, rows, out, RELU, 0)
        quantize_rows(out, rows, 16 * at(LINEAR, linear, 0).panels, np.float32(0.0), next_q, next_scales)


@kernel
def repeat_quantize_int8_linear(
    times: count, linear: address, x: address, q: address, scales: address, rows: count, out: address
):
    """Runs a product with the quantization of its input."""
    for _ in range(times):
        quantize_rows(x, rows, at(LINEAR, linear, 0).depth, np.float32(0.0), q, scales)
        int8_linear(linear, q, scales, rows, out, AFFINE, 0)


@kernel
def repeat_quantize_int16_linear(
    times: count, linear: address, x: address, reach: real, q: address, scales: address, rows: count, out: address
):
    """Runs the same in 16 bits."""
    for _ in range(times):
        quantize_rows16(x, rows, at(LINEAR, linear, 0).depth, reach, q, scales)
        int16_linear(linear, q, scales, rows, out, AFFINE)


@kernel
def repeat_linears(
    times: count,
    linears: address,
    number: count,
    q: address,
    scales: address,
    x: address,
    rows: count,
    out: address,
):
    """Multiplies rows by `number` LINEAR records in turn, as in a model: they evict one another from the caches."""
    for _ in range(times):
        for i in range(number):
            linear(linears + i * LINEAR_BYTES, x, q, scales, rows, out, AFFINE, 0)


@kernel
def repeat_rectified(
    times: count,
    linears: address,
    number: count,
    x: address,
    batch: address,
    scratch: address,
    out: address,
    how: count,
):
    """Multiplies rows of a ReLU's output, some at a time, by `number` LINEAR records in turn, quantization included.

    x        float32, all rows
    batch    int64 [2]: number of rows, and of rows of a product
    how      0: dense; 1: sparse; 2: the model's choice
    """
    s, rows = at(SCRATCH, scratch, 0), load_i64(batch, 1)
    for _ in range(times):
        first = 0
        while first < load_i64(batch, 0):
            for i in range(number):
                weights, lists = linears + i * LINEAR_BYTES, address_of(s.lists)
                w = at(LINEAR, weights, 0)
                given = x + 4 * first * w.depth
                if how == 0:
                    quantize_rows(given, rows, w.depth, w.multiplier, s.quantized, s.row_scales)
                    int8_linear(weights, s.quantized, s.row_scales, rows, out, AFFINE, 0)
                elif how == 1:
                    for row in range(rows):
                        scale = s.row_scales + 8 * row
                        groups = list_row(given + 4 * row * w.depth, w.depth, w.multiplier, 16 * w.panels, scale, lists)
                        sparse_row(weights, lists, groups, scale, out + 64 * w.panels * row, AFFINE)
                else:
                    sparse_linear(weights, given, rows, lists, s.quantized, s.row_scales, out, AFFINE)
            first += rows


@kernel
def attend_sources(
    times: count,
    settings: address,
    scratch: address,
    q: address,
    sources: address,
    number: count,
    length: count,
    out: address,
):
    """Computes one query's cross-attention over `number` source sentences in turn.

    sources    float32 [number, 2, panels, attention_dim, 16]: keys and values of each, in any order
    """
    half = 64 * ((length + PANEL - 1) // PANEL) * at(SETTINGS, settings, 0).attention_dim
    for _ in range(times):
        for i in range(number):
            keys = sources + 2 * half * i
            cross_attention_row(settings, scratch, q, keys, keys + half, length, out, 2 * half)


@kernel
def score_sets(
    gathered: count,
    table: address,
    output: address,
    q: address,
    scales: address,
    x: address,
    rows: count,
    pieces: address,
    sizes: address,
    out: address,
):
    """Scores one set of pieces of a TABLE record after the other by rows: in place, or gathered as a LINEAR record.

    pieces    int32 [sets, candidates]
    sizes     int64 [2]: sets, candidates
    out       float32 [rows, candidates rounded up to a multiple of 16], after int64 [16]
    """
    sets, candidates, depth = load_i64(sizes, 0), load_i64(sizes, 1), at(LINEAR, output, 0).depth
    for number in range(sets):
        chosen = pieces + 4 * number * candidates
        if gathered:
            gather_output(table, chosen, candidates, depth, out, 0, output)
            linear(output, x, q, scales, rows, out + 128, AFFINE, 0)
        else:
            score_pieces(table, depth, x, q, scales, rows, chosen, candidates, out + 128)
