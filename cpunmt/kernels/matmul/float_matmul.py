"""Float32 products: of attention, and of the layers in the float32 mode.

Every output is one chain of fused multiply-adds over the depth in ascending order, whatever the number of
rows and the instruction set, so its bits depend on nothing else.
"""

import numpy as np

from cpunmt.kernels.matmul.int8_matmul import INTEGERS, RELU
from cpunmt.kernels.matmul.packing import unpack_float32
from cpunmt.kernels.reading import linear_at
from cpunmt.simd.float_tile import FLOAT_SHAPES, HEADS, float_tiles, head_tiles
from cpunmt.simd.intrinsics import lesser
from cpunmt.simd.jit import address, count, kernel
from cpunmt.simd.vector import load, maximum, splat, store

ROW_BLOCK = 48
TILE_ROWS = max(FLOAT_SHAPES)
TILE_PANELS = FLOAT_SHAPES[TILE_ROWS]
_ALONE = np.array([FLOAT_SHAPES[rows] for rows in range(1, TILE_ROWS + 1)])

_HEADS = np.array([HEADS.get(panels, 0) for panels in range(max(HEADS) + 1)])

_tiles = float_tiles()
_head_tiles = head_tiles()


@kernel
def float_matmul(
    a: address,
    row_bytes: count,
    a_bytes: count,
    rows: count,
    w: address,
    panel_bytes: count,
    step_bytes: count,
    panels: count,
    depth: count,
    out: address,
    out_bytes: count,
):
    """out[r, c] = sum_k a[r, k] * w[k, c].

    a      float32, `rows` rows, `row_bytes` apart, their depths `a_bytes` apart
    w      float32: 16 columns of one depth side by side, depths `step_bytes` apart, panels `panel_bytes` apart
    out    float32 [rows, 16 * panels], rows `out_bytes` apart
    """
    for first in range(0, rows, ROW_BLOCK):
        block = lesser(ROW_BLOCK, rows - first)
        step = TILE_PANELS if block > TILE_ROWS else _ALONE[block - 1]
        tiles = (block + TILE_ROWS - 1) // TILE_ROWS
        panel = 0
        while panel < panels:
            width = step if panel + step <= panels else 1
            row, left = first, tiles
            while left > 0:
                tall = (first + block - row + left - 1) // left
                _tiles(
                    tall,
                    width,
                    a + row * row_bytes,
                    row_bytes,
                    a_bytes,
                    w + panel * panel_bytes,
                    panel_bytes,
                    step_bytes,
                    depth,
                    out + row * out_bytes + 64 * panel,
                    out_bytes,
                )
                row += tall
                left -= 1
            panel += width


@kernel
def float_heads(
    a: address,
    head_bytes: count,
    heads: count,
    w: address,
    weight_bytes: count,
    panel_bytes: count,
    step_bytes: count,
    panels: count,
    depth: count,
    out: address,
    out_bytes: count,
):
    """out[h, c] = sum_k a[h, k] * w[h, k, c]: `float_matmul` of one row for each of several attention heads.

    a      float32 [depth] per head, `head_bytes` apart
    w      as in `float_matmul`, per head, `weight_bytes` apart
    out    float32 [16 * panels] per head, `out_bytes` apart
    """
    panel = 0
    while panel < panels:
        width = 1
        if panel_bytes == 64:  # neighbours: read them together
            width = 4 if panels - panel >= 4 else 2 if panels - panel >= 2 else 1
        together = _HEADS[width]
        head = 0
        while head < heads:
            while together > heads - head:
                together //= 2
            _head_tiles(
                together,
                width,
                a + head * head_bytes,
                head_bytes,
                w + head * weight_bytes + panel * panel_bytes,
                weight_bytes,
                panel_bytes,
                step_bytes,
                depth,
                out + head * out_bytes + 64 * panel,
                out_bytes,
            )
            head += together
        panel += width


@kernel
def float_linear(linear: address, x: address, rows: count, out: address, mode: count):
    """y = x W + b for float32 rows and a LINEAR record of float weights; RELU as in int8_matmul.

    x      float32 [rows, depth]
    out    float32 [rows, 16 * panels]
    """
    weights = linear_at(linear, 0)
    depth, panels = weights.depth, weights.panels
    float_matmul(x, 4 * depth, 4, rows, weights.weights, 64 * depth, 64, panels, depth, out, 64 * panels)
    if mode != INTEGERS:
        floor = splat(np.float32(0.0)) if mode == RELU else splat(np.float32(-np.inf))
        for row in range(rows):
            target = out + row * 64 * panels
            for column in range(0, 16 * panels, 16):
                store(target, column, maximum(load(target, column) + load(weights.bias, column), floor))


def float_linear_reference(x, packed, columns, bias, relu=False) -> np.ndarray:
    """y = x W + b in float64: [rows, columns]."""
    out = x.astype(np.float64) @ unpack_float32(packed, columns).astype(np.float64) + bias[:columns]
    return np.maximum(out, 0) if relu else out
