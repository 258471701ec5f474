"""Self-attention of the decoder, step by step: each hypothesis attends to what it has said so far.

Keys and values of a step are computed once and never moved: hypotheses that share a beginning share them. A
hypothesis finds its own by walking up its history. Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, section 3.2.
"""

import numpy as np

from cpunmt.kernels.attention import cross_attention_row
from cpunmt.kernels.copying import copy_floats
from cpunmt.kernels.matmul.int8_matmul import AFFINE
from cpunmt.kernels.reading import cell_at, hypothesis_at, item_at, model_at, workspace_at
from cpunmt.layers.attention import projected
from cpunmt.layers.linear import linear
from cpunmt.layers.residual import after_block, before_block
from cpunmt.simd.intrinsics import address_of, lesser, load_i64, store_i64
from cpunmt.simd.jit import address, count, kernel
from cpunmt.simd.vector import transpose


@kernel
def gather_own(number: count, model: address, workspace: address, row: count):
    """Keys and values of all steps of a hypothesis, one after another, into `own_keys` and `own_values`."""
    m, w = model_at(model, 0), workspace_at(workspace, 0)
    h = hypothesis_at(w.hypotheses, row)
    row_bytes, item = 4 * m.model_dim, h.item
    first = (number * w.slots + h.slot) * w.steps
    for step in range(h.step, -1, -1):
        place = w.own_rows + 3 * row_bytes * ((first + step) * w.beam + item)
        store_i64(w.own_places, step, place + row_bytes)
        copy_floats(place + 2 * row_bytes, m.model_dim, w.own_values + step * row_bytes)
        if step > 0:
            item = np.int64(item_at(w.history, (h.slot * w.steps + step - 1) * w.beam + item).parent)
    for step in range(0, h.step + 1, 16):
        for lane in range(16):
            store_i64(w.pointers, lane, load_i64(w.own_places, lesser(step + lane, h.step)))
        for k in range(0, m.model_dim, 16):
            transpose(w.pointers, 4 * k, w.own_keys + 4 * (step * m.model_dim + 16 * k), 64)


@kernel
def own_attention(layer: address, number: count, model: address, workspace: address, rows: count):
    """One step of decoder layer `number`, the block of a CELL record, on the workspace's x [rows, model_dim]."""
    weights, m, w = cell_at(layer, 0), model_at(model, 0), workspace_at(workspace, 0)
    before_block(address_of(weights.residual), model, workspace, rows)
    linear(address_of(weights.input), w.input, w.quantized, w.row_scales, rows, w.wide, AFFINE)
    row_bytes = 4 * m.model_dim
    for row in range(rows):
        h = hypothesis_at(w.hypotheses, row)
        place = ((number * w.slots + h.slot) * w.steps + h.step) * w.beam + h.item
        copy_floats(w.wide + 3 * row * row_bytes, 3 * m.model_dim, w.own_rows + 3 * row_bytes * place)
        gather_own(number, model, workspace, row)
        query, context = w.wide + 3 * row * row_bytes, w.context + row * row_bytes
        cross_attention_row(model, workspace, query, w.own_keys, w.own_values, h.step + 1, context)
    projected(address_of(weights.output), model, workspace, rows)
    after_block(address_of(weights.residual), model, workspace, rows)
