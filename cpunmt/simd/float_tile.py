"""Register tiles of the float32 products: rows x panels sums in registers, one walk down the depth.

    out[r, c] = a[r, 0] * w[0, c] + a[r, 1] * w[1, c] + ...    one fused multiply-add each, in this order

A panel is 16 columns, one vector of sums per row. See `simd/tile` for the integer products.
"""

from typing import NamedTuple

from llvmlite import ir

from cpunmt.simd import processor
from cpunmt.simd.emission import (
    FLOATS,
    broadcast_constant,
    broadcast_value,
    constant,
    depth_loop,
    in_order,
    load,
    multiply_add,
    opaque,
    pointer,
    prefetch,
    tile_function,
)
from cpunmt.simd.tile_shapes import FLOAT32, HEAD_SHAPES


class FloatTile(NamedTuple):
    """The arguments of a tile of floats: addresses, distances in bytes, a count. Integers for compiled code, LLVM
    values here.

    a            float32 rows, `a_row_bytes` apart, their depths `a_depth_bytes` apart
    w            the first of the panels: 16 float32 per depth, depths `w_depth_bytes` apart, panels `w_panel_bytes`
    w_row_bytes  between the weights of one row and the next: 0, unless attention heads have their own weights
    w_places     int64 [depth]: bytes from w to the weights of each depth, for tiles that do not use `w_depth_bytes`
    w_ahead      bytes from the weights to those of the next product, which heads prefetch; any number
    depth        at least 1
    out          float32 [rows, 16 * panels], rows `out_row_bytes` apart; written
    """

    a: int
    a_row_bytes: int
    a_depth_bytes: int
    w: int
    w_panel_bytes: int
    w_depth_bytes: int
    w_row_bytes: int
    w_places: int
    w_ahead: int
    depth: int
    out: int
    out_row_bytes: int


@tile_function(FLOAT32.every(), FloatTile)
def float_tiles(builder, rows, panels, tile):
    """Runs a FloatTile, as `float_tiles(rows, panels, tile)`: all rows have the same weights."""
    row_addresses = [builder.add(tile.a, builder.mul(tile.a_row_bytes, constant(r))) for r in range(rows)]
    panel_addresses = [builder.add(tile.w, builder.mul(tile.w_panel_bytes, constant(p))) for p in range(panels)]

    def body(k, sums):
        step = builder.mul(k, tile.w_depth_bytes)
        weights = [load(builder, panel, step, FLOATS) for panel in panel_addresses]
        made = []
        for r, address in enumerate(row_addresses):
            row = _broadcast_depth(builder, address, k, tile.a_depth_bytes)
            for p, panel in enumerate(weights):
                made.append(in_order(builder, multiply_add(builder, row, panel, sums[r * panels + p])))
        return made

    _store_sums(builder, panels, _sums(builder, rows * panels, tile, body), tile)


@tile_function(HEAD_SHAPES, FloatTile)
def head_tiles(builder, heads, panels, tile):
    """Runs a FloatTile of attention heads, one row and its own weights for each. Depths of a row are neighbours."""
    _heads(builder, heads, panels, tile, lambda k: builder.mul(k, tile.w_depth_bytes))


@tile_function(HEAD_SHAPES, FloatTile)
def placed_head_tiles(builder, heads, panels, tile):
    """Runs the same with weights whose depths are anywhere."""
    _heads(builder, heads, panels, tile, lambda k: load(builder, tile.w_places, builder.mul(k, constant(8)), k.type))


def _heads(builder, heads, panels, tile, place_of):
    rows = [builder.add(tile.a, builder.mul(tile.a_row_bytes, constant(h))) for h in range(heads)]
    places = [
        builder.add(builder.mul(tile.w_row_bytes, constant(h)), builder.mul(tile.w_panel_bytes, constant(p)))
        for h in range(heads)
        for p in range(panels)
    ]

    def body(k, sums):
        step = builder.add(tile.w, place_of(k))
        ahead = builder.add(step, tile.w_ahead)
        made = []
        for i, (place, total) in enumerate(zip(places, sums, strict=True)):
            row = _broadcast_depth(builder, rows[i // panels], k, constant(4))
            prefetch(builder, ahead, place, level=2)
            made.append(in_order(builder, multiply_add(builder, row, load(builder, step, place, FLOATS), total)))
        return made

    _store_sums(builder, panels, _sums(builder, len(places), tile, body), tile)


def _broadcast_depth(builder, row, k, depth_bytes):
    number = load(builder, row, builder.mul(k, depth_bytes), ir.FloatType())
    if processor.machine() == "aarch64":  # its fmla takes an element: broadcasting would be one more instruction
        number = opaque(builder, number)
    return broadcast_value(builder, number)


def _sums(builder, count, tile, body):
    return depth_loop(builder, tile.depth, [broadcast_constant(0.0, ir.FloatType())] * count, body)


def _store_sums(builder, panels, sums, tile):
    """Stores the sums of all panels of the first row, then of the next."""
    for i, total in enumerate(sums):
        r, p = divmod(i, panels)
        row = builder.add(tile.out, builder.mul(tile.out_row_bytes, constant(r)))
        builder.store(total, pointer(builder, row, constant(64 * p), FLOATS)).align = 4
