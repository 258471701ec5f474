"""Logits read in blocks while an output layer is multiplied: see kernels/fused_top_k."""

from cpunmt.architectures.records import ROW
from cpunmt.kernels.fused_top_k import take_scores
from cpunmt.kernels.matmul.int8_matmul import AFFINE
from cpunmt.kernels.matmul.parts import cut_panels
from cpunmt.kernels.records import BLOCK, LINEAR, WANTED
from cpunmt.kernels.softmax import LOWEST
from cpunmt.layers.linear import linear
from cpunmt.search.records import HYPOTHESIS, LOGITS, SLOT, WORKSPACE
from cpunmt.simd.intrinsics import (
    address_of,
    at,
    lesser,
    load_f32,
    load_i32,
    load_i64,
    local_record,
    store_f32,
    store_i64,
)
from cpunmt.simd.jit import address, count, kernel
from cpunmt.simd.sparse_tile import gather
from cpunmt.simd.vector import store

WANTED_BYTES = WANTED.itemsize
_BLOCK_PANELS = BLOCK // 16
new_linear = local_record(LINEAR)


@kernel
def take_own(workspace: address, row: count, logits: address, first: count, end: count):
    """Takes a row's own candidates from float32 logits of more pieces, whose columns are from `first` to `end`.

    These are the candidates of all sentences, or with clusters all pieces. Its blocks hold its own candidates from any
    columns: a partial block waits for the next call.
    """
    w = at(WORKSPACE, workspace, 0)
    if w.together:
        slot = at(ROW, w.rows, row).slot
        columns = w.columns + 64 * slot * w.candidate_panels
        length = (at(SLOT, w.sentences, slot).candidates + 15) // 16 * 16
    else:
        h = at(HYPOTHESIS, w.hypotheses, row)
        columns, length = h.pieces, h.candidates
    block, position = w.own_logits + 4 * BLOCK * row, load_i64(w.own_counts, row)
    while position < length and load_i32(columns, position) < end:
        begin = position // BLOCK * BLOCK
        stop = lesser(begin + BLOCK, length)
        while position < stop and load_i32(columns, position) < end:
            if position + 16 <= stop and load_i32(columns, position + 15) < end:
                store(block, position - begin, gather(logits - 4 * first, columns, position))
                position += 16
            else:
                logit = load_f32(logits, load_i32(columns, position) - first)
                store_f32(block, position - begin, logit)
                position += 1
        if position == stop:
            padded = (stop - begin + 15) // 16 * 16
            for i in range(stop - begin, padded):
                store_f32(block, i, LOWEST)
            take_scores(w.wanted + WANTED_BYTES * row, block, begin, padded)
    store_i64(w.own_counts, row, position)


@kernel
def take_layer(
    layer: address,
    x: address,
    quantized: address,
    row_scales: address,
    rows: count,
    wanted: address,
    logits: address,
    workspace: address,
    first: count,
    room: address,
):
    """Searches each row's logits for its WANTED, while an output layer is multiplied.

    x           float32 [rows, depth], or their quantized form and row_scales, as of `linear`
    wanted      WANTED [rows], begun
    rows        at most FUSED_ROWS
    logits      float32 [max(LOGITS, BLOCK * FUSED_ROWS)]
    workspace   0: every row has all columns; else these are the workspace's rows from `first` on, and take their own
    room        as of `linear`
    """
    part, blocks = address_of(new_linear()), LOGITS // BLOCK // rows
    step = _BLOCK_PANELS * (blocks if blocks > 1 else 1)
    for panel in range(0, at(LINEAR, layer, 0).panels, step):
        begin, columns = 16 * panel, 16 * cut_panels(layer, panel, step, part)
        linear(part, x, quantized, row_scales, rows, logits, AFFINE, room)
        for i in range(rows):
            row = logits + 4 * i * columns
            if workspace:
                take_own(workspace, first + i, row, begin, begin + columns)
            else:
                take_scores(wanted + WANTED_BYTES * i, row, begin, columns)
