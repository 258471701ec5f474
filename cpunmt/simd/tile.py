"""Register tiles: the inner loops of the matrix products, written as LLVM code for the chosen instruction set.

A tile keeps rows x panels sums in registers while it walks down the depth once; a panel is 16 columns, one
vector of sums per row. This is the one place where a loop is generated rather than written: which registers
hold what is the whole point, and no compiler finds it by itself.

    int8    sum[r, c] = start[c] + sum_k a[r, k] * w[k, c]     exact in int32, on every instruction set;
            made floats while it is in its register
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

INTEGERS, AFFINE, RELU = 0, 1, 2  # what an int8 tile makes of its sums: see kernels/int8_matmul

OFFSET = isa.activation_offset()
PLANES = isa.activation_planes()

# Tile shapes, {rows: panels at a time}: as many sums as there are registers left beside the operands.
SHAPES = {
    Isa.AVX512_VNNI: {6: 4, 5: 4, 4: 4, 3: 4, 2: 1, 1: 1},
    Isa.AVX_VNNI: {6: 1, 5: 1, 4: 1, 3: 2, 2: 2, 1: 1},
    Isa.AVX2: {4: 1, 3: 1, 2: 2, 1: 1},
    Isa.GENERIC: {4: 1, 3: 1, 2: 2, 1: 1},
}[isa.current()]

# One row against one panel has only one sum to wait for. It walks down several groups at a time, each with sums of
# its own (CHAINS registers in all), and reads the weights as one stream, AHEAD bytes of which are asked for early.
# With 2 MB of weights in the third cache that flows at 115 GB/s with vpdpbusd (Zen 5, whose limit is 128), at 46 GB/s
# on AVX2 (Zen 3; without the early request 38). Two and four panels side by side were slower on both. Two rows do
# the same with vpdpbusd (10 to 20 % faster than four panels at a time); from three on the row's loads cost more.
CHAINS, FEW_CHAINS = 8, 4  # the fewer for two rows, and where the depth is an odd multiple of 16
AHEAD = 2048  # bytes
STREAM_ROWS = 2 if isa.current() is Isa.AVX512_VNNI else 1

# The widest tiles, if they are tall, ask for as many lines of the next panels at every step, into the second cache, so
# that two of them one upon another fetch all: 2 to 5 % of a translation with vpdpbusd, which is as fast as the third
# cache. Four rows have no instructions to spare for it.
WIDEST, TALL = 4, 5  # panels, rows
LINES_AHEAD = 2

FLOAT_SHAPES = {
    Isa.AVX512_VNNI: {**dict.fromkeys(range(12, 6, -1), 2), **dict.fromkeys(range(6, 0, -1), 4)},
    Isa.AVX_VNNI: {3: 2, 2: 2, 1: 4},
    Isa.AVX2: {3: 2, 2: 2, 1: 4},
    Isa.GENERIC: {2: 1, 1: 2},
}[isa.current()]

# Attention heads whose single rows are multiplied side by side, {panels of each: heads}: chains enough to hide a fma's
# latency, and where a head's panels are neighbours, all of them at once, so that the weights are one stream.
HEADS = {1: 8, 2: 8, 4: 4} if isa.current() is Isa.AVX512_VNNI else {1: 4, 2: 2, 4: 1}


def head_shapes():
    """All (heads, panels) of `head_tiles`: powers of two up to HEADS."""
    return [(heads, panels) for panels, most in HEADS.items() for heads in (1, 2, 4, 8) if heads <= most]


def tile_shapes(shapes):
    """All (rows, panels) that a product needs: the largest tile's panels and one panel for every number of rows,
    and what `shapes` gives each number of rows that stands alone."""
    largest = shapes[max(shapes)]
    return sorted({(r, p) for r in shapes for p in (largest, 1, shapes[r])})


def _emit_int8(builder, rows, panels, use, *operands):
    """Choose how many groups of weights a tile takes at a time, see CHAINS."""
    if rows == panels == 1:
        groups = operands[5]
        odd = builder.trunc(builder.udiv(groups, constant(FEW_CHAINS)), ir.IntType(1))
        with builder.if_else(odd) as (few, many):
            for branch, chains in ((few, FEW_CHAINS), (many, CHAINS)):
                with branch:
                    _emit_loop(builder, 1, 1, chains // use.parts, use, *operands)
    else:
        chains = FEW_CHAINS if panels == 1 and rows <= STREAM_ROWS else 1
        _emit_loop(builder, rows, panels, chains, use, *operands)


def _emit_loop(
    builder, rows, panels, chains, use, a, row_bytes, plane, w, panel_bytes, groups, ahead, start, *epilogue
):
    row_addresses = [builder.add(a, builder.mul(row_bytes, constant(r))) for r in range(rows)]
    panel_addresses = [builder.add(w, builder.mul(panel_bytes, constant(p))) for p in range(panels)]
    stream = panels == 1 and rows <= STREAM_ROWS
    lines = 1 if stream else LINES_AHEAD if panels == WIDEST and rows >= TALL else 0
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
            early = builder.mul(offset, constant(lines))
            for line in range(lines):
                place = builder.add(early, constant(PANEL_BYTES * line))
                prefetch(builder, ahead, place, level=1 if stream else 2)
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
    sums = [made[i : i + use.parts] for i in range(0, len(made), use.parts)]
    sums = [parts[0] if use.parts == 1 else joined(builder, *parts) for parts in sums]
    _emit_epilogue(builder, [sums[r * panels : (r + 1) * panels] for r in range(rows)], *epilogue)


def _emit_epilogue(builder, sums, row_scales, scales, bias, out, out_bytes, mode):
    """Store sums[row][panel] as `mode` says."""
    rows = [builder.add(out, builder.mul(out_bytes, constant(r))) for r in range(len(sums))]
    with builder.if_else(builder.icmp_signed("==", mode, constant(INTEGERS))) as (as_integers, as_floats):
        with as_integers:
            for row, vectors in zip(rows, sums, strict=True):
                for p, vector in enumerate(vectors):
                    builder.store(vector, pointer(builder, row, constant(64 * p), INTS)).align = 4
        with as_floats:
            relu = builder.icmp_signed("==", mode, constant(RELU))
            zero, lowest = (ir.Constant(ir.FloatType(), number) for number in (0.0, float("-inf")))
            floor = splat_value(builder, builder.select(relu, zero, lowest))
            for p in range(len(sums[0])):
                scale, shift = (load(builder, base, constant(64 * p), FLOATS) for base in (scales, bias))
                for r, row in enumerate(rows):
                    row_scale = splat_value(builder, load(builder, row_scales, constant(4 * r), ir.FloatType()))
                    value = builder.fmul(builder.sitofp(sums[r][p], FLOATS), scale)
                    value = call_llvm(builder, "llvm.fma.v16f32", FLOATS, [value, row_scale, shift])
                    value = builder.select(builder.fcmp_ordered(">", value, floor), value, floor)
                    builder.store(value, pointer(builder, row, constant(64 * p), FLOATS)).align = 4


def int8_tiles(signed=True):
    """A function `tiles(rows, panels, a, row_bytes, plane, w, panel_bytes, groups, ahead, start, row_scales, scales,
    bias, out, out_bytes, mode)`.

    rows, panels the shape, one of `tile_shapes(SHAPES)`; another one does nothing
    a            address of `rows` rows of activations, `row_bytes` apart: one byte per depth, q + OFFSET;
                 where PLANES is 2, |q| follows `plane` bytes after q
    w            address of the first of `panels` panels of packed weights, `panel_bytes` apart
    groups       depth / 4, a multiple of FEW_CHAINS
    ahead        address of weights that are wanted soon, asked for on the way (see LINES_AHEAD); need not exist
    start        address of int32 [16 * panels]: what the sums begin with
    row_scales   address of float32 [rows]; scales and bias of float32 [16 * panels]
    out          address of int32 or float32 [rows, 16 * panels], rows `out_bytes` apart; written
    mode         INTEGERS, AFFINE or RELU

    `signed=False` promises that no q is negative.
    """
    use = instructions(signed)

    def emit(builder, rows, panels, *operands):
        switch(builder, rows, panels, tile_shapes(SHAPES), lambda r, p: _emit_int8(builder, r, p, use, *operands))

    @intrinsic
    def tiles(
        typing_context,
        rows,
        panels,
        a,
        row_bytes,
        plane,
        w,
        panel_bytes,
        groups,
        ahead,
        start,
        row_scales,
        scales,
        bias,
        out,
        out_bytes,
        mode,
    ):
        def generate(context, builder, sig, args):
            emit(builder, *args)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 16), generate

    return tiles


def _emit_float(builder, rows, panels, a, row_bytes, a_bytes, w, panel_bytes, step_bytes, depth, out, out_bytes):
    row_addresses = [builder.add(a, builder.mul(row_bytes, constant(r))) for r in range(rows)]
    panel_addresses = [builder.add(w, builder.mul(panel_bytes, constant(p))) for p in range(panels)]

    def body(k, sums):
        step = builder.mul(k, step_bytes)
        weights = [load(builder, panel, step, FLOATS) for panel in panel_addresses]
        made = []
        for r, address in enumerate(row_addresses):
            scalar = load(builder, address, builder.mul(k, a_bytes), ir.FloatType())
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


def _emit_heads(builder, heads, panels, a, head_bytes, w, weight_bytes, panel_bytes, step_bytes, depth, out, out_bytes):
    rows = [builder.add(a, builder.mul(head_bytes, constant(h))) for h in range(heads)]
    places = [
        builder.add(builder.mul(weight_bytes, constant(h)), builder.mul(panel_bytes, constant(p)))
        for h in range(heads)
        for p in range(panels)
    ]

    def body(k, sums):
        step = builder.add(w, builder.mul(k, step_bytes))
        made = []
        for i, (place, total) in enumerate(zip(places, sums, strict=True)):
            scalar = load(builder, rows[i // panels], builder.mul(k, constant(4)), ir.FloatType())
            operands = [splat_value(builder, scalar), load(builder, step, place, FLOATS), total]
            made.append(call_llvm(builder, "llvm.fma.v16f32", FLOATS, operands))
        return made

    zero = splat_constant(0.0, ir.FloatType())
    for i, total in enumerate(depth_loop(builder, depth, [zero] * len(places), body)):
        h, p = divmod(i, panels)
        place = builder.add(builder.mul(out_bytes, constant(h)), constant(64 * p))
        builder.store(total, pointer(builder, out, place, FLOATS)).align = 4


def head_tiles():
    """A function `tiles(heads, panels, a, head_bytes, w, weight_bytes, panel_bytes, step_bytes, depth, out,
    out_bytes)`: one row for each of some attention heads, each with weights of its own.

    heads, panels the shape, one of `head_shapes()`; another one does nothing
    a            float32 [depth] of head h at `a + h * head_bytes`
    w            float32 [depth, 16] of head h and panel p at `w + h * weight_bytes + p * panel_bytes`, depths
                 `step_bytes` apart
    out          float32 [16 * panels] of head h at `out + h * out_bytes`; written
    """

    def emit(builder, heads, panels, *operands):
        switch(builder, heads, panels, head_shapes(), lambda h, p: _emit_heads(builder, h, p, *operands))

    @intrinsic
    def tiles(
        typing_context, heads, panels, a, head_bytes, w, weight_bytes, panel_bytes, step_bytes, depth, out, out_bytes
    ):
        def generate(context, builder, sig, args):
            emit(builder, *args)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 11), generate

    return tiles


def float_tiles():
    """A function `tiles(rows, panels, a, row_bytes, a_bytes, w, panel_bytes, step_bytes, depth, out, out_bytes)`.

    rows, panels the shape, one of `tile_shapes(FLOAT_SHAPES)`; another one does nothing
    a            address of `rows` float32 rows, `row_bytes` apart, their depths `a_bytes` apart
    w            address of the first of `panels` panels: float32 [depth, 16], depths `step_bytes` apart (64 where
                 packed), panels `panel_bytes` apart
    depth        at least 1
    out          address of float32 [rows, 16 * panels], rows `out_bytes` apart; written
    """

    def emit(builder, rows, panels, *operands):
        switch(builder, rows, panels, tile_shapes(FLOAT_SHAPES), lambda r, p: _emit_float(builder, r, p, *operands))

    @intrinsic
    def tiles(typing_context, rows, panels, a, row_bytes, a_bytes, w, panel_bytes, step_bytes, depth, out, out_bytes):
        def generate(context, builder, sig, args):
            emit(builder, *args)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 11), generate

    return tiles
