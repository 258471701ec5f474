"""Float32 products: of attention, and of the layers in the float32 mode.

Every output is one chain of fused multiply-adds over the depth in ascending order, for any number of
rows and every instruction set, so its bits depend only on the operands.
"""

import numpy as np

from cpunmt.kernels.matmul.int8_matmul import INTEGERS, RELU
from cpunmt.kernels.records import LINEAR
from cpunmt.simd.float_tile import FloatTile, float_tiles, head_tiles, placed_head_tiles
from cpunmt.simd.intrinsics import address_of, at, lesser, local_record
from cpunmt.simd.jit import address, count, inlined, kernel
from cpunmt.simd.tile_shapes import FLOAT32, HEADS
from cpunmt.simd.vector import broadcast, load, maximum, store

# The operands of a product without their addresses: sizes, and distances in bytes.
FLOAT_PRODUCT = np.dtype(
    [
        ("rows", np.int64),  # of a
        ("depth", np.int64),
        ("panels", np.int64),  # of w: 16 columns of one depth lie side by side
        ("a_row_bytes", np.int64),  # from a row to the next
        ("a_depth_bytes", np.int64),  # from a depth to the next; of `float_heads` always 4
        ("w_panel_bytes", np.int64),
        ("w_depth_bytes", np.int64),
        ("w_row_bytes", np.int64),  # from the weights of a row to those of the next; `float_heads` only
        # Of `float_heads` only: int64 [depth], the bytes from w to the weights of each depth, instead of
        # `w_depth_bytes`; 0: absent.
        ("w_places", np.int64),
        ("w_ahead", np.int64),  # of `float_heads` only: bytes from w to the weights of the next product
        ("out_row_bytes", np.int64),
    ]
)
new_float_product = local_record(FLOAT_PRODUCT)

ROW_BLOCK = 48
TILE_ROWS = FLOAT32.tile_rows
TILE_PANELS = FLOAT32.panels[TILE_ROWS]
_ALONE = FLOAT32.alone

_HEADS = np.array([HEADS.get(panels, 0) for panels in range(max(HEADS) + 1)])


@inlined
def _tile(product, a, w, out):
    """Makes the FloatTile of the product that begins at these addresses."""
    return FloatTile(
        a=a,
        a_row_bytes=product.a_row_bytes,
        a_depth_bytes=product.a_depth_bytes,
        w=w,
        w_panel_bytes=product.w_panel_bytes,
        w_depth_bytes=product.w_depth_bytes,
        w_row_bytes=product.w_row_bytes,
        w_places=product.w_places,
        w_ahead=product.w_ahead,
        depth=product.depth,
        out=out,
        out_row_bytes=product.out_row_bytes,
    )


@kernel
def float_matmul(product: address, a: address, w: address, out: address):
    """Computes out[r, c] = sum_k a[r, k] * w[k, c] for a FLOAT_PRODUCT record.

    a, w   float32
    out    float32 [rows, 16 * panels]
    """
    p = at(FLOAT_PRODUCT, product, 0)
    rows, panels = p.rows, p.panels
    for first in range(0, rows, ROW_BLOCK):
        block = lesser(ROW_BLOCK, rows - first)
        step = TILE_PANELS if block > TILE_ROWS else _ALONE[block - 1]
        tiles = (block + TILE_ROWS - 1) // TILE_ROWS
        panel = 0
        while panel < panels:
            width = step if panel + step <= panels else 1
            row, left, columns = first, tiles, out + 64 * panel
            while left > 0:
                tall = (first + block - row + left - 1) // left
                tile = _tile(p, a + row * p.a_row_bytes, w + panel * p.w_panel_bytes, columns + row * p.out_row_bytes)
                float_tiles(tall, width, tile)
                row += tall
                left -= 1
            panel += width


@kernel
def float_heads(product: address, a: address, w: address, out: address):
    """Computes out[h, c] = sum_k a[h, k] * w[h, k, c], one row for each of several attention heads.

    The rows of the FLOAT_PRODUCT record are heads, each with its own weights.
    """
    p = at(FLOAT_PRODUCT, product, 0)
    heads, panels = p.rows, p.panels
    panel = 0
    while panel < panels:
        width = 1
        if p.w_panel_bytes == 64:  # neighbours: read them together
            width = 4 if panels - panel >= 4 else 2 if panels - panel >= 2 else 1
        together = _HEADS[width]
        head = 0
        while head < heads:
            while together > heads - head:
                together //= 2
            weights = w + head * p.w_row_bytes + panel * p.w_panel_bytes
            tile = _tile(p, a + head * p.a_row_bytes, weights, out + head * p.out_row_bytes + 64 * panel)
            if p.w_places == 0:
                head_tiles(together, width, tile)
            else:
                placed_head_tiles(together, width, tile)
            head += together
        panel += width


@kernel
def float_linear(linear: address, x: address, rows: count, out: address, mode: count):
    """Computes y = x W + b for float32 rows and a LINEAR record of float weights; RELU as in int8_matmul.

    x      float32 [rows, depth]
    out    float32 [rows, 16 * panels]
    """
    weights = at(LINEAR, linear, 0)
    depth, panels = weights.depth, weights.panels
    product = new_float_product()
    product.rows, product.depth, product.panels = rows, depth, panels
    product.a_row_bytes, product.a_depth_bytes = 4 * depth, 4
    product.w_panel_bytes, product.w_depth_bytes = 64 * depth, 64
    product.out_row_bytes = 64 * panels
    float_matmul(address_of(product), x, weights.weights, out)
    if mode != INTEGERS:
        floor = broadcast(np.float32(0.0)) if mode == RELU else broadcast(np.float32(-np.inf))
        for row in range(rows):
            target = out + row * 64 * panels
            for column in range(0, 16 * panels, 16):
                store(target, column, maximum(load(target, column) + load(weights.bias, column), floor))
