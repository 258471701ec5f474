"""Self-attention of the decoder, step by step: each hypothesis attends to its earlier pieces.

Keys and values of a step are computed once and never moved: hypotheses that share a beginning share them. They lie in
the order of steps, and within a step in that of items, packed for products. A hypothesis finds its own by following its
back-pointers, once for all layers. Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, section 3.2.
"""

from cpunmt.architectures.records import ROW
from cpunmt.architectures.transformer.cross_attention import slots_ahead
from cpunmt.architectures.transformer.records import CELL, MEMORY, TRANSFORMER
from cpunmt.kernels.attention import add_key, add_value, path_attention_row, value_place
from cpunmt.kernels.matmul.int8_matmul import AFFINE
from cpunmt.kernels.records import PATH, SCRATCH, SETTINGS
from cpunmt.layers.attention import projected
from cpunmt.layers.linear import linear
from cpunmt.layers.residual import after_block, before_block
from cpunmt.simd.intrinsics import address_of, at, load_i32, load_i64, store_i32, store_i64
from cpunmt.simd.jit import address, count, kernel


@kernel
def find_path(memory: address, rows: address, n: count, i: count, depth: count, heads: count):
    """Makes the PATH of row `i` of ROW records [n] from the items of the steps so far."""
    w, r = at(MEMORY, memory, 0), at(ROW, rows, i)
    path, parents = at(PATH, w.paths, i), w.own_parents + 4 * r.slot * w.steps * w.beam
    store_i32(parents, r.step * w.beam + r.item, r.parent_item)
    item = r.item
    for step in range(r.step, -1, -1):
        number = step * w.beam + item
        store_i64(path.columns, step, number)
        item = load_i32(parents, number)
    panels, last = 0, -1
    for step in range(r.step + 1):
        number = load_i64(path.columns, step)
        panel = number // 16
        if panel != last:
            store_i64(path.keys, panels, 64 * depth * panel)
            panels, last = panels + 1, panel
        store_i64(path.columns, step, 16 * (panels - 1) + number % 16)
        store_i64(path.values, step, value_place(depth, heads, number))
    path.length, path.panels = r.step + 1, panels
    path.ahead = 64 * depth * w.own_panels * slots_ahead(rows, n, i)


@kernel
def self_attention_cell(layer: address, number: count, network: address, memory: address, rows: address, n: count):
    """Computes one step of decoder layer `number` on x, for ROW records [n]."""
    weights, w = at(CELL, layer, 0), at(MEMORY, memory, 0)
    settings, scratch = address_of(at(TRANSFORMER, network, 0).settings), address_of(w.scratch)
    depth, heads = at(SETTINGS, settings, 0).attention_dim, at(SETTINGS, settings, 0).heads
    s = at(SCRATCH, scratch, 0)
    before_block(address_of(weights.residual), settings, scratch, n)
    linear(address_of(weights.input), s.input, s.quantized, s.row_scales, n, s.wide, AFFINE, s.room)
    slot_bytes = 64 * depth * w.own_panels
    for i in range(n):
        row, made = at(ROW, rows, i), s.wide + 12 * i * depth
        if number == 0:
            find_path(memory, rows, n, i, depth, heads)
        place, item = slot_bytes * (number * w.slots + row.slot), row.step * w.beam + row.item
        keys, values, path = w.own_keys + place, w.own_values + place, address_of(at(PATH, w.paths, i))
        add_key(made + 4 * depth, depth, keys, item)
        add_value(made + 8 * depth, depth, heads, values, item)
        context = s.context + 4 * i * depth
        path_attention_row(settings, scratch, weights.relative, made, path, keys, values, context)
    projected(address_of(weights.output), settings, scratch, n)
    after_block(address_of(weights.residual), settings, scratch, n)
