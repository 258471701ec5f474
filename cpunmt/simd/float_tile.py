"""Register tiles of the float32 products: rows x panels sums in registers, one walk down the depth.

    out[r, c] = a[r, 0] * w[0, c] + a[r, 1] * w[1, c] + ...    one fused multiply-add each, in this order

A panel is 16 columns, one vector of sums per row. See `simd/tile` for the integer products.
"""

from llvmlite import ir
from numba import types

from cpunmt.simd import isa
from cpunmt.simd.emission import constant, depth_loop, load, pointer, switch, tile_shapes
from cpunmt.simd.isa import Isa
from cpunmt.simd.vector import FLOATS, call_llvm, function, splat_constant, splat_value

# Tile shapes, {rows: panels at a time}: see simd/tile.
FLOAT_SHAPES = {
    Isa.AVX512_VNNI: {**dict.fromkeys(range(12, 6, -1), 2), **dict.fromkeys(range(6, 0, -1), 4)},
    Isa.AVX_VNNI: {6: 1, 5: 1, 4: 1, 3: 1, 2: 2, 1: 4},
    Isa.AVX2: {6: 1, 5: 1, 4: 1, 3: 1, 2: 2, 1: 4},
    Isa.GENERIC: {2: 1, 1: 2},
}[isa.current()]

# Attention heads whose single rows are multiplied side by side, {panels of each: heads}: chains enough to hide a fma's
# latency, and where a head's panels are neighbours, all of them at once, so that the weights are one stream.
HEADS = {1: 8, 2: 8, 4: 4} if isa.current() is Isa.AVX512_VNNI else {1: 4, 2: 2, 4: 1}


def head_shapes():
    """All (heads, panels) of `head_tiles`: powers of two up to HEADS."""
    return [(heads, panels) for panels, most in HEADS.items() for heads in (1, 2, 4, 8) if heads <= most]


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

    def tiles(builder, heads, panels, *operands):
        switch(builder, heads, panels, head_shapes(), lambda h, p: _emit_heads(builder, h, p, *operands))

    return function(types.void, (types.int64,) * 11, head_tiles.__doc__)(tiles)


def float_tiles():
    """A function `tiles(rows, panels, a, row_bytes, a_bytes, w, panel_bytes, step_bytes, depth, out, out_bytes)`.

    rows, panels the shape, one of `tile_shapes(FLOAT_SHAPES, max(FLOAT_SHAPES))`; another one does nothing
    a            address of `rows` float32 rows, `row_bytes` apart, their depths `a_bytes` apart
    w            address of the first of `panels` panels: float32 [depth, 16], depths `step_bytes` apart (64 where
                 packed), panels `panel_bytes` apart
    depth        at least 1
    out          address of float32 [rows, 16 * panels], rows `out_bytes` apart; written
    """

    def tiles(builder, rows, panels, *operands):
        switch(
            builder,
            rows,
            panels,
            tile_shapes(FLOAT_SHAPES, max(FLOAT_SHAPES)),
            lambda r, p: _emit_float(builder, r, p, *operands),
        )

    return function(types.void, (types.int64,) * 11, float_tiles.__doc__)(tiles)
