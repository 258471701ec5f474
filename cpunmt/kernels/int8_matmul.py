"""Products of quantized rows with packed int8 weights, and what makes floats of their sums.

    INTEGERS    out[r, c] = sum_k q[r, k] * w[k, c]                                   int32, exact
    AFFINE      out[r, c] = fma(float(sum) * scales[c], row_scales[r], bias[c])       float32
    RELU        out[r, c] = max(AFFINE, 0)

The sums are exact, so they are the same on every instruction set and for every number of rows.
"""

import numpy as np

from cpunmt.jit import address, count, kernel
from cpunmt.kernels.packing import GROUP, unpack_int8
from cpunmt.kernels.reading import linear_at
from cpunmt.simd.int8_instructions import SIGNS_MATTER
from cpunmt.simd.tile import AFFINE, AHEAD, INTEGERS, LINES_AHEAD, PLANES, RELU, SHAPES, int8_tiles

__all__ = ["AFFINE", "INTEGERS", "RELU", "int8_linear", "int8_linear_reference", "int8_matmul_reference"]

ROW_BLOCK = 96  # rows at most that one pass over the weights serves: they stay in the second cache
TILE_ROWS = max(SHAPES)
TILE_PANELS = SHAPES[TILE_ROWS]
_ALONE = np.array([SHAPES[rows] for rows in range(1, TILE_ROWS + 1)])  # panels at a time, where a tile holds all rows

_tiles = int8_tiles(signed=True)
_unsigned_tiles = int8_tiles(signed=False)


@kernel
def int8_linear(
    linear: address, q: address, row_scales: address, rows: count, out: address, mode: count, signed: count
):
    """Multiply `rows` quantized rows by the weights of a LINEAR record.

    q            bytes [rows, PLANES * depth], as `quantize_rows` writes them
    row_scales   float32 [rows]
    out          float32 [rows, 16 * panels] (int32 for INTEGERS)
    mode         INTEGERS, AFFINE or RELU
    signed       0 promises that no activation is negative: what ReLU leaves multiplies faster on AVX2
    """
    weights = linear_at(linear, 0)
    depth, panels = weights.depth, weights.panels
    row_bytes, out_bytes, panel_bytes = PLANES * depth, 64 * panels, 16 * depth
    first, blocks = 0, (rows + ROW_BLOCK - 1) // ROW_BLOCK
    while blocks > 0:
        block = (rows - first + blocks - 1) // blocks  # equal blocks, and equal tiles: none is left with a row or two
        step = TILE_PANELS if block > TILE_ROWS else _ALONE[block - 1]
        panel = 0
        while panel < panels:
            width = step if panel + step <= panels else 1
            w, columns = weights.weights + panel * panel_bytes, 64 * panel
            start, scales, bias = weights.start + columns, weights.scales + columns, weights.bias + columns
            ahead = w + width * panel_bytes if width > 1 else w + AHEAD
            row, tiles = first, (block + TILE_ROWS - 1) // TILE_ROWS
            while tiles > 0:
                tall = (first + block - row + tiles - 1) // tiles
                a, scale, target = q + row * row_bytes, row_scales + 4 * row, out + row * out_bytes + columns
                if signed or not SIGNS_MATTER:
                    _tiles(
                        tall,
                        width,
                        a,
                        row_bytes,
                        depth,
                        w,
                        panel_bytes,
                        depth // GROUP,
                        ahead,
                        start,
                        scale,
                        scales,
                        bias,
                        target,
                        out_bytes,
                        mode,
                    )
                else:
                    _unsigned_tiles(
                        tall,
                        width,
                        a,
                        row_bytes,
                        depth,
                        w,
                        panel_bytes,
                        depth // GROUP,
                        ahead,
                        start,
                        scale,
                        scales,
                        bias,
                        target,
                        out_bytes,
                        mode,
                    )
                ahead += LINES_AHEAD * panel_bytes
                row += tall
                tiles -= 1
            panel += width
        first += block
        blocks -= 1


def int8_matmul_reference(q: np.ndarray, packed: np.ndarray, columns: int) -> np.ndarray:
    """INTEGERS, for q int8 [rows, depth]: int32 [rows, columns]."""
    return q.astype(np.int32) @ unpack_int8(packed, columns).astype(np.int32)


def int8_linear_reference(q, row_scales, packed, columns, scales, bias, relu=False) -> np.ndarray:
    """AFFINE or RELU in float64, after the conversion of the sums to float32: [rows, columns]."""
    sums = int8_matmul_reference(q, packed, columns).astype(np.float32).astype(np.float64)
    out = sums * scales[:columns].astype(np.float64) * row_scales[:, None].astype(np.float64) + bias[:columns]
    return np.maximum(out, 0) if relu else out
