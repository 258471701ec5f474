"""Simpler simple recurrent unit, the decoder's recurrent layer: Kim et al. 2019, section 3.1.

    f_t = sigmoid(W_f x_t + b_f)
    c_t = f_t * c_{t-1} + (1 - f_t) * W x_t
    x_t = norm(x_t + relu(c_t))

Both products have one input, so they are one product. State: c, float32 [model_dim] per row; it starts as 0.
"""

from cpunmt.jit import address, count, kernel
from cpunmt.kernels.int8_matmul import AFFINE
from cpunmt.kernels.reading import decoder_layer_at, hypothesis_at, model_at, workspace_at
from cpunmt.kernels.ssru import ssru_row
from cpunmt.layers.linear import linear
from cpunmt.layers.norm import add_and_norm
from cpunmt.simd.intrinsics import address_of


@kernel
def ssru(layer: address, number: count, model: address, workspace: address, rows: count):
    """One step of the workspace's x [rows, model_dim] in decoder layer `number`, from each row's parent's state."""
    weights, m, w = decoder_layer_at(layer, 0), model_at(model, 0), workspace_at(workspace, 0)
    linear(address_of(weights.cell), w.x, w.quantized, w.row_scales, rows, w.wide, AFFINE, 1)
    row_bytes = 4 * m.model_dim
    layer_bytes = number * (w.slots * w.beam + 1) * row_bytes
    cells, next_cells = w.cells + layer_bytes, w.next_cells + layer_bytes
    for row in range(rows):
        parent = hypothesis_at(w.hypotheses, row).parent
        ssru_row(
            w.wide + 2 * row * row_bytes,
            cells + parent * row_bytes,
            m.model_dim,
            m.sigmoid_table,
            next_cells + row * row_bytes,
            w.y + row * row_bytes,
        )
    add_and_norm(address_of(weights.cell_norm), model, workspace, rows)
