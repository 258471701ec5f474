"""Products of quantized rows with packed int16 weights: int8_matmul's modes, with rows that have no shift.

    INTEGERS    out[r, c] = sum_k q[r, k] * w[k, c]                                 int32, exact
    AFFINE      out[r, c] = fma(float(sum) * scales[c], scale[r], bias[c])          float32
    RELU        out[r, c] = max(AFFINE, 0)

The code does not check for overflow: the weights exclude it (see schemes.int16).
"""

from cpunmt.kernels.matmul.int8_matmul import Product, walk
from cpunmt.kernels.matmul.packing import PAIR
from cpunmt.kernels.records import LINEAR
from cpunmt.simd.intrinsics import at
from cpunmt.simd.jit import address, count, kernel
from cpunmt.simd.tile import int16_tiles
from cpunmt.simd.tile_shapes import INT16

_ALONE, _TILE_ROWS = INT16.alone, INT16.tile_rows
_tiles = int16_tiles()


@kernel
def int16_linear(linear: address, q: address, row_scales: address, rows: count, out: address, mode: count):
    """Multiplies `rows` quantized rows by the weights of a LINEAR record.

    q            int16 [rows, depth]
    row_scales   float32 [rows, 2]: scale and shift, which is 0
    out          float32 [rows, 16 * panels] (int32 for INTEGERS)
    mode         INTEGERS, AFFINE or RELU
    """
    w = at(LINEAR, linear, 0)
    panel_bytes, groups, out_bytes = 32 * w.depth, w.depth // PAIR, 64 * w.panels
    product = Product(q, 2 * w.depth, row_scales, rows, w.weights, panel_bytes, groups, out, out_bytes, mode)
    walk(_tiles, _ALONE, _TILE_ROWS, w, product)
