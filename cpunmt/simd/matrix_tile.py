"""Tiles of many rows on matrix registers (AMX): each holds 16 rows of 64 bytes, and one instruction multiplies two.

    tdpbusd    sum[r, c] += sum over 64 depths of a[r, k] * w[k, c]     16 x 16 sums, exact in int32

A register of weights is sixteen groups of a panel, as `kernels/packing` lays them out; one of activations is sixteen
rows' 64 bytes, q + OFFSET; one of sums begins with the same 64 bytes of `start` in each row. The sums become floats
by way of memory, in the order of `simd/tile`, so results are the same to the bit.

The registers are configured for a product (`begin`), and released after it (`end`). So no register is in use when a
call returns to Python, and a switch of threads need not save any.
"""

from typing import NamedTuple

from llvmlite import ir
from numba.core.types import int64, void

from cpunmt.simd.emission import (
    FLOATS,
    INTS,
    broadcast_value,
    call_llvm,
    constant,
    depth_loop,
    function,
    load,
    multiply_add,
    pointer,
    prefetch,
    tile_function,
)
from cpunmt.simd.tile import INTEGERS, RELU

_i8, _i16, _i32, _i64, _void = ir.IntType(8), ir.IntType(16), ir.IntType(32), ir.IntType(64), ir.VoidType()

ROWS = 16  # of a register
DEPTHS = 64  # bytes of a row of a register
_REGISTER, LINE = ROWS * DEPTHS, 64  # bytes
# The use of the registers. Two blocks of rows meet two panels; one block meets up to four.
_SUMS, _ACTIVATIONS, _WEIGHTS = (0, 1, 2, 3), (4, 5), (6, 7)
SHAPES = [(1, 4), (1, 2), (1, 1), (2, 2), (2, 1)]  # (blocks of rows, panels)


class MatrixTile(NamedTuple):
    """The arguments of a tile: integers for compiled code, LLVM values here. Of a second block of rows: `next_...`.

    a, next_a           address of rows of activations, `row_bytes` apart
    w                   address of the first of the panels of packed weights, `panel_bytes` apart
    steps               of DEPTHS depths, at least 1
    ahead               address of weights to prefetch, `lines` cache lines at each step; need not exist
    lines               at least 1
    start               address of int32 [16 * panels]: initial sums
    totals, scales, bias    addresses of float32 [16 * panels]
    row_scales, next_row_scales    addresses of float32 [rows, 2]: the scale and the shift of each row
    out, next_out       address of int32 or float32 [rows, 16 * panels], rows `out_bytes` apart; written
    rows                of a block, as the registers are configured
    mode                INTEGERS, AFFINE or RELU
    """

    a: int
    next_a: int
    row_bytes: int
    w: int
    panel_bytes: int
    steps: int
    ahead: int
    lines: int
    start: int
    totals: int
    scales: int
    bias: int
    row_scales: int
    next_row_scales: int
    out: int
    next_out: int
    out_bytes: int
    rows: int
    mode: int


def _register(number):
    return ir.Constant(_i8, number)


def _load_register(builder, number, base, offset, stride):
    name, place = "llvm.x86.tileloadd64", pointer(builder, base, offset, _i8)
    call_llvm(builder, name, _void, [_register(number), place, stride])


def _local(builder, size):
    """Returns the address of bytes [size] on the stack of the call, a cache line apart from others."""
    with builder.goto_entry_block():
        memory = builder.alloca(ir.ArrayType(_i8, size))
        memory.align = 64
    return builder.ptrtoint(memory, _i64)


@function(void(int64))
def begin(builder, rows):
    """Configures the registers: sums and activations have `rows` rows, 1 to 16, weights 16, all of 64 bytes."""
    memory = _local(builder, 64)
    widths = [DEPTHS] * 8 + [0] * 8
    head = ir.Constant(ir.VectorType(_i8, 16), [1] + [0] * 15)  # palette 1
    builder.store(head, pointer(builder, memory, constant(0), head.type)).align = 16
    wide = ir.Constant(ir.VectorType(_i16, 16), widths)
    builder.store(wide, pointer(builder, memory, constant(16), wide.type)).align = 16
    given, kind = builder.trunc(rows, _i8), ir.VectorType(_i8, 16)
    heights = ir.Constant(kind, [ROWS if number in _WEIGHTS else 0 for number in range(16)])
    for number in (*_SUMS, *_ACTIVATIONS):
        heights = builder.insert_element(heights, given, ir.Constant(_i32, number))
    builder.store(heights, pointer(builder, memory, constant(48), kind)).align = 16
    call_llvm(builder, "llvm.x86.ldtilecfg", _void, [pointer(builder, memory, constant(0), _i8)])


@function(void())
def end(builder):
    """Releases the registers."""
    call_llvm(builder, "llvm.x86.tilerelease", _void, [])


@tile_function(SHAPES, MatrixTile)
def matrix_tiles(builder, blocks, panels, tile):
    """Runs a MatrixTile, as `matrix_tiles(blocks, panels, tile)`, between `begin` and `end`; a shape of SHAPES."""
    sums = {(b, p): _SUMS[b * panels + p] for b in range(blocks) for p in range(panels)}
    for (_, panel), register in sums.items():
        _load_register(builder, register, tile.start, constant(64 * panel), constant(0))
    panel_addresses = [builder.add(tile.w, builder.mul(tile.panel_bytes, constant(p))) for p in range(panels)]

    def body(step, values):
        depth = builder.mul(step, constant(DEPTHS))
        for block, rows in enumerate((tile.a, tile.next_a)[:blocks]):
            _load_register(builder, _ACTIVATIONS[block], rows, depth, tile.row_bytes)
        early = builder.add(tile.ahead, builder.mul(builder.mul(step, tile.lines), constant(LINE)))

        def fetch(line, values):
            prefetch(builder, early, builder.mul(line, constant(LINE)), level=2)
            return values

        depth_loop(builder, tile.lines, [], fetch)
        place = builder.mul(step, constant(_REGISTER))
        for panel, address in enumerate(panel_addresses):
            weights = _WEIGHTS[panel % 2]
            _load_register(builder, weights, address, place, constant(DEPTHS))
            for block in range(blocks):
                registers = (sums[block, panel], _ACTIVATIONS[block], weights)
                call_llvm(builder, "llvm.x86.tdpbusd", _void, [_register(number) for number in registers])
        return values

    depth_loop(builder, tile.steps, [], body)
    memory = _local(builder, len(sums) * _REGISTER)
    for i, register in enumerate(sums.values()):
        place = pointer(builder, memory, constant(i * _REGISTER), _i8)
        call_llvm(builder, "llvm.x86.tilestored64", _void, [_register(register), place, constant(DEPTHS)])
    outputs = ((tile.out, tile.row_scales), (tile.next_out, tile.next_row_scales))
    for block in range(blocks):
        first = builder.add(memory, constant(block * panels * _REGISTER))
        _emit_rows(builder, panels, first, *outputs[block], tile)


def _emit_rows(builder, panels, sums, out, row_scales, tile):
    """Stores the sums of one block, int32 [panels, ROWS, 16], in the form of `mode`."""

    def row_places(row):
        target = builder.add(out, builder.mul(row, tile.out_bytes))
        source = builder.add(sums, builder.mul(row, constant(DEPTHS)))
        found = [load(builder, source, constant(p * _REGISTER), INTS) for p in range(panels)]
        return target, found

    with builder.if_else(builder.icmp_signed("==", tile.mode, constant(INTEGERS))) as (as_integers, as_floats):
        with as_integers:

            def copy(row, values):
                target, found = row_places(row)
                for p, vector in enumerate(found):
                    builder.store(vector, pointer(builder, target, constant(64 * p), INTS)).align = 4
                return values

            depth_loop(builder, tile.rows, [], copy)
        with as_floats:
            relu = builder.icmp_signed("==", tile.mode, constant(RELU))
            zero, lowest = (ir.Constant(ir.FloatType(), number) for number in (0.0, float("-inf")))
            floor = broadcast_value(builder, builder.select(relu, zero, lowest))
            columns = [
                [load(builder, base, constant(64 * p), FLOATS) for base in (tile.scales, tile.totals, tile.bias)]
                for p in range(panels)
            ]

            def convert(row, values):
                target, found = row_places(row)
                of_row = builder.add(row_scales, builder.mul(row, constant(8)))
                scale, shift = (
                    broadcast_value(builder, load(builder, of_row, constant(place), ir.FloatType())) for place in (0, 4)
                )
                for p, (vector, (column, total, bias)) in enumerate(zip(found, columns, strict=True)):
                    value = builder.fmul(builder.sitofp(vector, FLOATS), column)
                    value = multiply_add(builder, value, scale, multiply_add(builder, shift, total, bias))
                    value = builder.select(builder.fcmp_ordered(">", value, floor), value, floor)
                    builder.store(value, pointer(builder, target, constant(64 * p), FLOATS)).align = 4
                return values

            depth_loop(builder, tile.rows, [], convert)
