"""Self-attention of the decoder, step by step: each hypothesis attends to its earlier pieces.

Keys and values of a step are computed once and never moved: hypotheses that share a beginning share them. A
hypothesis finds its own by following its back-pointers. Vaswani et al. 2017, https://arxiv.org/abs/1706.03762,
section 3.2.
"""

from cpunmt.architectures.records import ROW
from cpunmt.architectures.transformer.records import CELL, MEMORY, TRANSFORMER
from cpunmt.kernels.attention import cross_attention_row
from cpunmt.kernels.copying import copy_floats
from cpunmt.kernels.matmul.int8_matmul import AFFINE
from cpunmt.kernels.records import SCRATCH, SETTINGS
from cpunmt.layers.attention import projected
from cpunmt.layers.linear import linear
from cpunmt.layers.residual import after_block, before_block
from cpunmt.simd.intrinsics import address_of, at, lesser, load_i32, load_i64, store_i32, store_i64
from cpunmt.simd.jit import address, count, kernel
from cpunmt.simd.vector import transpose


@kernel
def own_place(memory: address, slot: count, step: count, item: count) -> count:
    """Returns the index in [slots, steps, beam]."""
    w = at(MEMORY, memory, 0)
    return (slot * w.steps + step) * w.beam + item


@kernel
def gather_own(rows: address, depth: count, memory: address, row: address):
    """Gathers keys and values of all steps of a ROW in sequence into `own_keys` and `own_values`.

    rows     float32 [slots, steps, beam, 3 * depth]: a layer's queries, keys, values
    """
    w, r = at(MEMORY, memory, 0), at(ROW, row, 0)
    item, pointers = r.item, w.scratch.pointers
    for step in range(r.step, -1, -1):
        place = own_place(memory, r.slot, step, item)
        keys = rows + 4 * depth * (3 * place + 1)
        store_i64(w.own_places, step, keys)
        copy_floats(keys + 4 * depth, depth, w.own_values + 4 * depth * step)
        item = load_i32(w.own_parents, place)
    for step in range(0, r.step + 1, 16):
        for lane in range(16):
            store_i64(pointers, lane, load_i64(w.own_places, lesser(step + lane, r.step)))
        for k in range(0, depth, 16):
            transpose(pointers, 4 * k, w.own_keys + 4 * (step * depth + 16 * k), 64)


@kernel
def self_attention_cell(layer: address, number: count, network: address, memory: address, rows: address, n: count):
    """Computes one step of decoder layer `number` on x, for ROW records [n]."""
    weights, w = at(CELL, layer, 0), at(MEMORY, memory, 0)
    settings, scratch = address_of(at(TRANSFORMER, network, 0).settings), address_of(w.scratch)
    depth, s = at(SETTINGS, settings, 0).attention_dim, at(SCRATCH, scratch, 0)
    before_block(address_of(weights.residual), settings, scratch, n)
    linear(address_of(weights.input), s.input, s.quantized, s.row_scales, n, s.wide, AFFINE)
    own_rows = w.own_rows + 12 * depth * own_place(memory, number * w.slots, 0, 0)
    for i in range(n):
        row, made = at(ROW, rows, i), s.wide + 12 * i * depth
        place = own_place(memory, row.slot, row.step, row.item)
        store_i32(w.own_parents, place, row.parent_item)
        copy_floats(made, 3 * depth, own_rows + 12 * depth * place)
        gather_own(own_rows, depth, memory, address_of(row))
        context = s.context + 4 * i * depth
        steps = row.step + 1
        cross_attention_row(settings, scratch, weights.relative, made, w.own_keys, w.own_values, steps, context)
    projected(address_of(weights.output), settings, scratch, n)
    after_block(address_of(weights.residual), settings, scratch, n)
