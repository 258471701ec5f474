"""Products of quantized rows with packed int8 weights, and the conversion of their sums to floats.

    INTEGERS    out[r, c] = sum_k q[r, k] * w[k, c]                                                   int32, exact
    AFFINE      out[r, c] = fma(float(sum) * scales[c], scale[r], fma(shift[r], totals[c], bias[c]))  float32
    RELU        out[r, c] = max(AFFINE, 0)

A row stands for scale[r] * q[r] + shift[r], a column for scales[c] * w[:, c], which add up to totals[c]. The sums are
exact, so they are the same on every instruction set and for every number of rows.

Weights of 16 levels have a second form of half the size, for products of few rows, which are bound by reading. Each
4-bit code is looked up among the levels on its way into the product, so the sums are those of the int8 weights. A large
model has only this form. Products of more rows then look codes up for six rows at a time, or decode some panels,
multiply them, and go on with the next: whichever is faster (`tile_shapes`).
"""

from typing import NamedTuple

import numpy as np

from cpunmt.kernels.matmul.packing import GROUP, ROOM, ROOM_PANELS
from cpunmt.kernels.matmul.parts import cut_panels
from cpunmt.kernels.records import LINEAR
from cpunmt.simd.code_blocks import decode_blocks
from cpunmt.simd.intrinsics import address_of, at, lesser, local_record
from cpunmt.simd.jit import address, count, inlined, kernel
from cpunmt.simd.matrix_tile import DEPTHS, LINE, ROWS, MatrixTile, begin, end, matrix_tiles
from cpunmt.simd.tile import AFFINE, INTEGERS, LEADERS, LINES_AHEAD, PLANES, RELU, Tile, coded_tiles, int8_tiles
from cpunmt.simd.tile_shapes import CODED_FAR, CODED_ROWS, CODED_ROWS_FAR, CODES_IN_REGISTERS, INT8, MATRIX_ROWS

__all__ = ["AFFINE", "INTEGERS", "RELU", "int8_linear"]

ROW_BLOCK = 96  # most rows of one pass over the weights: they stay in the L2 cache

_ALONE, _TILE_ROWS = INT8.alone, INT8.tile_rows
_CODED_ALONE = np.ones(CODED_ROWS_FAR, np.int64)

new_part = local_record(LINEAR)
_tiles = int8_tiles()
_coded_tiles = coded_tiles() if CODED_ROWS_FAR else None


class Product(NamedTuple):
    """The operands of `walk`: addresses, distances in bytes, counts."""

    q: int
    row_bytes: int
    row_scales: int
    rows: int
    weights: int
    panel_bytes: int
    groups: int
    out: int
    out_bytes: int
    mode: int


@inlined
def walk(tiles, alone, tile_rows, linear, product):
    """Multiplies all rows by all panels of a LINEAR record, tile by tile.

    tiles               the tile function
    alone, tile_rows    its shapes: see tile_shapes
    """
    rows, panels, out_bytes = product.rows, linear.panels, product.out_bytes
    soon, soon_end, line_bytes = linear.next, linear.next + linear.next_bytes, 64 * LINES_AHEAD
    first, blocks = 0, (rows + ROW_BLOCK - 1) // ROW_BLOCK
    while blocks > 0:
        block = (rows - first + blocks - 1) // blocks  # equal blocks and tiles, so that none has only a row or two
        tiled = block > len(alone)
        step = alone[tile_rows - 1] if tiled else alone[block - 1]
        panel = 0
        while panel < panels:
            width = step if panel + step <= panels else 1
            w, columns = product.weights + panel * product.panel_bytes, 64 * panel
            row, left = first, (block + tile_rows - 1) // tile_rows if tiled else 1
            ahead, leaders = w + width * product.panel_bytes, LEADERS if left > 1 else 0
            while left > 0:
                ahead_step = line_bytes
                if leaders <= 0:
                    if soon < soon_end and 2 * panel >= panels:  # just in time: earlier it would be evicted
                        ahead = soon
                        soon += line_bytes * product.groups
                    else:  # no further weights: the same line, again and again
                        ahead, ahead_step = w, 0
                tall = (first + block - row + left - 1) // left
                tile = Tile(
                    a=product.q + row * product.row_bytes,
                    row_bytes=product.row_bytes,
                    plane=linear.depth,
                    w=w,
                    panel_bytes=product.panel_bytes,
                    groups=product.groups,
                    ahead=ahead,
                    ahead_step=ahead_step,
                    levels=linear.levels,
                    start=linear.start + columns,
                    totals=linear.totals + columns,
                    row_scales=product.row_scales + 8 * row,
                    scales=linear.scales + columns,
                    bias=linear.bias + columns,
                    out=product.out + row * out_bytes + columns,
                    out_bytes=out_bytes,
                    mode=product.mode,
                )
                tiles(tall, width, tile)
                ahead += ahead_step * product.groups
                row += tall
                left -= 1
                leaders -= 1
            panel += width
        first += block
        blocks -= 1


@inlined
def walk_matrices(linear, product):
    """Does the same on matrix registers. The last block of rows begins early enough to be as high as the others: rows
    that it shares with the block before are written twice."""
    rows, panels, out_bytes = product.rows, linear.panels, product.out_bytes
    blocks = (rows + ROWS - 1) // ROWS
    height = (rows + blocks - 1) // blocks  # equal blocks
    last, panel, steps = rows - height, 0, linear.depth // DEPTHS
    tiles = (blocks + 1) // 2  # one below another
    begin(height)
    while panel < panels:
        width = 4 if rows <= ROWS else 2
        while panel + width > panels:
            width //= 2
        columns, row = 64 * panel, 0
        w = product.weights + panel * product.panel_bytes
        ahead = w + width * product.panel_bytes
        lines = (width * product.panel_bytes + LINE * tiles * steps - 1) // (LINE * tiles * steps)
        while row < rows:
            first, second = lesser(row, last), lesser(row + height, last)
            tile = MatrixTile(
                a=product.q + first * product.row_bytes,
                next_a=product.q + second * product.row_bytes,
                row_bytes=product.row_bytes,
                w=w,
                panel_bytes=product.panel_bytes,
                steps=steps,
                ahead=ahead,
                lines=lines,
                start=linear.start + columns,
                totals=linear.totals + columns,
                scales=linear.scales + columns,
                bias=linear.bias + columns,
                row_scales=product.row_scales + 8 * first,
                next_row_scales=product.row_scales + 8 * second,
                out=product.out + first * out_bytes + columns,
                next_out=product.out + second * out_bytes + columns,
                out_bytes=out_bytes,
                rows=height,
                mode=product.mode,
            )
            together = 1 if row + height >= rows else 2
            matrix_tiles(together, width, tile)
            ahead += LINE * lines * steps
            row += together * height
        panel += width
    end()


@kernel
def int8_panels(
    linear: address, q: address, row_scales: address, rows: count, out: address, out_bytes: count, mode: count
):
    """Computes `int8_linear` with the int8 weights of a LINEAR record; rows of `out` are `out_bytes` apart."""
    w = at(LINEAR, linear, 0)
    panel_bytes, groups = 16 * w.depth, w.depth // GROUP
    product = Product(q, PLANES * w.depth, row_scales, rows, w.weights, panel_bytes, groups, out, out_bytes, mode)
    if MATRIX_ROWS and rows >= MATRIX_ROWS and w.depth % DEPTHS == 0:
        walk_matrices(w, product)
    else:
        walk(_tiles, _ALONE, _TILE_ROWS, w, product)


@kernel
def decode_panels(linear: address, room: address):
    """Writes the int8 weights of a LINEAR record that has only codes."""
    w = at(LINEAR, linear, 0)
    decode_blocks(w.codes, w.levels, w.panels * (w.depth // (2 * GROUP)), room)


@kernel
def int8_linear(
    linear: address, q: address, row_scales: address, rows: count, out: address, mode: count, room: address
):
    """Multiplies `rows` quantized rows by the weights of a LINEAR record.

    q            bytes [rows, PLANES * depth], as `quantize_rows` writes them
    row_scales   float32 [rows, 2]: scale and shift
    out          float32 [rows, 16 * panels] (int32 for INTEGERS)
    mode         INTEGERS, AFFINE or RELU
    room         for decoded weights, `packing.room_bytes`; may be absent if the layer has int8 weights
    """
    w = at(LINEAR, linear, 0)
    panel_bytes, out_bytes = 16 * w.depth, 64 * w.panels
    most = CODED_ROWS_FAR if panel_bytes * w.panels >= CODED_FAR else CODED_ROWS
    if w.weights == 0:
        most = rows if CODES_IN_REGISTERS else CODED_ROWS_FAR
    if CODED_ROWS_FAR and rows <= most and w.codes != 0:
        row_bytes, groups = PLANES * w.depth, w.depth // GROUP
        product = Product(q, row_bytes, row_scales, rows, w.codes, panel_bytes // 2, groups, out, out_bytes, mode)
        walk(_coded_tiles, _CODED_ALONE, CODED_ROWS_FAR, w, product)
    elif w.weights != 0:
        int8_panels(linear, q, row_scales, rows, out, out_bytes, mode)
    else:
        part, step = address_of(new_part()), ROOM // panel_bytes
        if step < ROOM_PANELS:
            step = ROOM_PANELS
        p = at(LINEAR, part, 0)
        for first in range(0, w.panels, step):
            cut_panels(linear, first, step, part)
            decode_panels(part, room)
            p.weights = room
            p.next, p.next_bytes = p.codes + p.panels * panel_bytes // 2, lesser(step, w.panels - first - p.panels)
            p.next_bytes *= panel_bytes // 2
            int8_panels(part, q, row_scales, rows, out + 64 * first, out_bytes, mode)
