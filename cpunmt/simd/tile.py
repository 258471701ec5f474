"""Register tiles: the inner loops of the matrix products, written as LLVM code for the chosen instruction set.

A tile keeps rows x panels sums in registers while it walks down the depth once; a panel is 16 columns, one
vector of sums per row. This is the one place where a loop is generated rather than written: which registers
hold what is the whole point, and no compiler finds it by itself.

    int8    out[r, c] = start[c] + sum_k a[r, k] * w[k, c]     exact in int32, on every instruction set
    float   out[r, c] = a[r, 0] * w[0, c] + a[r, 1] * w[1, c] + ...    one fused multiply-add each, in this order

Layout of packed int8 weights: see kernels/packing. Four depths of one column are neighbours, because the
8-bit instructions add four (vpdpbusd), or two and two (vpmaddubsw, vpmaddwd), neighbouring products:

    group g of panel p (64 bytes):   w[4g..4g+3, 16p]  w[4g..4g+3, 16p+1]  ...  w[4g..4g+3, 16p+15]
    row r of a:                      a[r, 4g..4g+3] broadcast to all columns
"""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from cpunmt.simd import isa
from cpunmt.simd.emission import constant, depth_loop, load, pointer, prefetch, switch
from cpunmt.simd.int8_instructions import GROUP, halves, instructions, joined
from cpunmt.simd.isa import Isa
from cpunmt.simd.vector import FLOATS, INTS, call_llvm, splat_constant, splat_value

PANEL_BYTES = 64  # of one group of one panel

OFFSET = isa.activation_offset()
PLANES = isa.activation_planes()

# Tile shapes, {rows: panels at a time}: as many sums as there are registers left beside the operands.
SHAPES = {
    Isa.AVX512_VNNI: {6: 4, 5: 4, 4: 4, 3: 4, 2: 4, 1: 1},
    Isa.AVX_VNNI: {6: 1, 5: 1, 4: 1, 3: 2, 2: 2, 1: 1},
    Isa.AVX2: {4: 1, 3: 1, 2: 2, 1: 1},
    Isa.GENERIC: {4: 1, 3: 1, 2: 2, 1: 1},
}[isa.current()]

# One row against one panel has only one sum to wait for. It walks down several groups at a time, each with sums of
# its own (CHAINS registers in all), and reads the weights as one stream, a kilobyte of which is asked for early: with
# 2 MB of weights in the third cache that flows at 46 GB/s, without the early request at 38, as four panels side by
# side at 32 (AVX2, Zen 3).
CHAINS = 4
AHEAD = 1024  # bytes

FLOAT_SHAPES = {
    Isa.AVX512_VNNI: {6: 4, 5: 4, 4: 4, 3: 4, 2: 4, 1: 4},
    Isa.AVX_VNNI: {3: 2, 2: 2, 1: 4},
    Isa.AVX2: {3: 2, 2: 2, 1: 4},
    Isa.GENERIC: {2: 1, 1: 2},
}[isa.current()]

HEADS = 4  # attention heads whose single rows are multiplied side by side: chains enough to hide a fma's latency


def tile_shapes(shapes):
    """All (rows, panels) that a product needs: the largest tile's panels and one panel for every number of rows,
    and what `shapes` gives each number of rows that stands alone."""
    largest = shapes[max(shapes)]
    return sorted({(r, p) for r in shapes for p in (largest, 1, shapes[r])})


def _emit_int8(builder, rows, panels, use, a, row_bytes, plane, w, panel_bytes, groups, start, out, out_bytes):
    row_addresses = [builder.add(a, builder.mul(row_bytes, constant(r))) for r in range(rows)]
    panel_addresses = [builder.add(w, builder.mul(panel_bytes, constant(p))) for p in range(panels)]
    alone = rows == panels == 1
    chains = CHAINS // use.parts if alone else 1
    beginning = []
    for p in range(panels):
        vector = load(builder, start, constant(64 * p), INTS)
        beginning.append([vector] if use.parts == 1 else halves(builder, vector))
    first = [part for _ in range(rows) for panel in beginning for part in panel]
    zeros = [ir.Constant(part.type, None) for part in first]

    def body(step, flat):
        sums, made = iter(flat), []
        for chain in range(chains):
            group = builder.add(builder.mul(step, constant(chains)), constant(chain))
            offset = builder.mul(group, constant(PANEL_BYTES))
            if alone:
                prefetch(builder, panel_addresses[0], builder.add(offset, constant(AHEAD)))
            weights = [use.weights(builder, panel, offset) for panel in panel_addresses]
            for address in row_addresses:
                row = use.row(builder, address, plane, builder.mul(group, constant(GROUP)))
                for panel in weights:
                    made += use.add_products(builder, [next(sums) for _ in range(use.parts)], row, panel)
        return made

    steps = builder.udiv(groups, constant(chains))
    made = depth_loop(builder, steps, first + zeros * (chains - 1), body)
    while len(made) > len(first):  # a chain more than one: add it to the first
        made, last = made[: -len(first)], made[-len(first) :]
        made[: len(first)] = [builder.add(x, y) for x, y in zip(made, last, strict=False)]
    sums = iter(made)
    for r in range(rows):
        row = builder.add(out, builder.mul(out_bytes, constant(r)))
        for p in range(panels):
            parts = [next(sums) for _ in range(use.parts)]
            vector = parts[0] if use.parts == 1 else joined(builder, *parts)
            builder.store(vector, pointer(builder, row, constant(64 * p), INTS)).align = 4


def int8_tiles(signed=True):
    """A function `tiles(rows, panels, a, row_bytes, plane, w, panel_bytes, groups, start, out, out_bytes)`.

    rows, panels the shape, one of `tile_shapes(SHAPES)`; another one does nothing
    a            address of `rows` rows of activations, `row_bytes` apart: one byte per depth, q + OFFSET;
                 where PLANES is 2, |q| follows `plane` bytes after q
    w            address of the first of `panels` panels of packed weights, `panel_bytes` apart
    groups       depth / 4, a multiple of CHAINS
    start        address of int32 [16 * panels]: what the sums begin with
    out          address of int32 [rows, 16 * panels], rows `out_bytes` apart; written

    `signed=False` promises that no q is negative.
    """
    use = instructions(signed)

    def emit(builder, rows, panels, *operands):
        switch(builder, rows, panels, tile_shapes(SHAPES), lambda r, p: _emit_int8(builder, r, p, use, *operands))

    @intrinsic
    def tiles(typing_context, rows, panels, a, row_bytes, plane, w, panel_bytes, groups, start, out, out_bytes):
        def generate(context, builder, sig, args):
            emit(builder, *args)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 11), generate

    return tiles


def _emit_float(builder, rows, panels, a, row_bytes, w, panel_bytes, step_bytes, depth, out, out_bytes):
    row_addresses = [builder.add(a, builder.mul(row_bytes, constant(r))) for r in range(rows)]
    panel_addresses = [builder.add(w, builder.mul(panel_bytes, constant(p))) for p in range(panels)]

    def body(k, sums):
        step = builder.mul(k, step_bytes)
        weights = [load(builder, panel, step, FLOATS) for panel in panel_addresses]
        made = []
        for r, address in enumerate(row_addresses):
            scalar = load(builder, address, builder.mul(k, constant(4)), ir.FloatType())
            row = splat_value(builder, scalar)
            for p, panel in enumerate(weights):
                made.append(call_llvm(builder, "llvm.fma.v16f32", FLOATS, [row, panel, sums[r * panels + p]]))
        return made

    zero = splat_constant(0.0, ir.FloatType())
    sums = depth_loop(builder, depth, [zero] * (rows * panels), body)
    for r in range(rows):
        row = builder.add(out, builder.mul(out_bytes, constant(r)))
        for p in range(panels):
            builder.store(sums[r * panels + p], pointer(builder, row, constant(64 * p), FLOATS)).align = 4


def _emit_heads(builder, heads, a, head_bytes, w, weight_bytes, step_bytes, depth, out, out_bytes):
    rows = [builder.add(a, builder.mul(head_bytes, constant(h))) for h in range(heads)]
    panels = [builder.add(w, builder.mul(weight_bytes, constant(h))) for h in range(heads)]

    def body(k, sums):
        step, made = builder.mul(k, step_bytes), []
        for row, panel, total in zip(rows, panels, sums, strict=True):
            scalar = splat_value(builder, load(builder, row, builder.mul(k, constant(4)), ir.FloatType()))
            made.append(
                call_llvm(builder, "llvm.fma.v16f32", FLOATS, [scalar, load(builder, panel, step, FLOATS), total])
            )
        return made

    zero = splat_constant(0.0, ir.FloatType())
    for h, total in enumerate(depth_loop(builder, depth, [zero] * heads, body)):
        builder.store(total, pointer(builder, out, builder.mul(out_bytes, constant(h)), FLOATS)).align = 4


def head_tiles():
    """A function `tiles(heads, a, head_bytes, w, weight_bytes, step_bytes, depth, out, out_bytes)`: one row and one
    panel for each of 1 to HEADS attention heads, each with weights of its own.

    a            float32 [depth] of head h at `a + h * head_bytes`
    w            float32 [depth, 16] of head h at `w + h * weight_bytes`, depths `step_bytes` apart
    out          float32 [16] of head h at `out + h * out_bytes`; written
    """

    def emit(builder, heads, *operands):
        shapes = [(h, 1) for h in range(1, HEADS + 1)]
        switch(builder, heads, constant(1), shapes, lambda h, _: _emit_heads(builder, h, *operands))

    @intrinsic
    def tiles(typing_context, heads, a, head_bytes, w, weight_bytes, step_bytes, depth, out, out_bytes):
        def generate(context, builder, sig, args):
            emit(builder, *args)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 9), generate

    return tiles


def float_tiles():
    """A function `tiles(rows, panels, a, row_bytes, w, panel_bytes, step_bytes, depth, out, out_bytes)`.

    rows, panels the shape, one of `tile_shapes(FLOAT_SHAPES)`; another one does nothing
    a            address of `rows` float32 rows, `row_bytes` apart
    w            address of the first of `panels` panels: float32 [depth, 16], depths `step_bytes` apart (64 where
                 packed), panels `panel_bytes` apart
    depth        at least 1
    out          address of float32 [rows, 16 * panels], rows `out_bytes` apart; written
    """

    def emit(builder, rows, panels, *operands):
        switch(builder, rows, panels, tile_shapes(FLOAT_SHAPES), lambda r, p: _emit_float(builder, r, p, *operands))

    @intrinsic
    def tiles(typing_context, rows, panels, a, row_bytes, w, panel_bytes, step_bytes, depth, out, out_bytes):
        def generate(context, builder, sig, args):
            emit(builder, *args)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 10), generate

    return tiles
