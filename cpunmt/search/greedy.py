"""Greedy search: one compiled call translates a batch.

Sentences are decoded side by side, one row each. A sentence that ends leaves at once; when half of the rows
are free, the next sentences are encoded and take their places (top-up batching: Hoang et al. 2018). A row
never sees another, so what it writes does not depend on who is beside it.
"""

import numpy as np

from cpunmt.jit import address, count, kernel
from cpunmt.kernels.candidates import find_candidates, gather_output
from cpunmt.kernels.int8_matmul import AFFINE
from cpunmt.kernels.reading import batch_at, linear_at, model_at, workspace_at
from cpunmt.kernels.softmax import best_index, log_normalizer
from cpunmt.layers.decoder import decode_step
from cpunmt.layers.encoder import encode
from cpunmt.layers.linear import linear
from cpunmt.records import LINEAR
from cpunmt.simd.intrinsics import address_of, lesser, load_f32, load_i32, load_i64, store_f32, store_i32, store_i64
from cpunmt.simd.tile import PLANES
from cpunmt.simd.vector import load, splat, store

LINEAR_BYTES = LINEAR.itemsize


@kernel
def start_row(model: address, batch: address, workspace: address, sentence: count, row: count):
    """Give `row` the topmost free slot and the beginning of `sentence`, which is encoded there."""
    m, b, w = model_at(model, 0), batch_at(batch, 0), workspace_at(workspace, 0)
    w.free_count -= 1
    slot = load_i64(w.free_slots, w.free_count)
    first = load_i64(b.offsets, sentence)
    length = load_i64(b.offsets, sentence + 1) - first
    store_i64(w.source_lengths, slot, length)
    store_i64(w.row_slot, row, slot)
    store_i64(w.row_sentence, row, sentence)
    store_i64(w.row_step, row, 0)
    store_i64(w.row_previous, row, -1)
    store_f32(b.log_probs, sentence, 0.0)
    for layer in range(m.decoder_layers):
        cell = w.cells + 4 * (layer * w.slots + row) * m.model_dim
        for k in range(0, m.model_dim, 16):
            store(cell, k, splat(np.float32(0.0)))
    if b.full_output.weights == 0:
        pieces = w.candidate_ids + 64 * slot * w.candidate_panels
        source = b.ids + 4 * first
        found = find_candidates(address_of(b.shortlist), source, length, m.vocab_size, w.marks, pieces)
        output = linear_at(w.outputs, slot)
        output.panels = (found + 15) // 16
        gather_output(address_of(m.embedding), pieces, found, m.model_dim, w.pointers, address_of(output))
        barred = -1
        for i in range(found):
            if load_i32(pieces, i) >= m.unk_id:
                if load_i32(pieces, i) == m.unk_id:
                    barred = i
                break
        store_i64(w.barred, slot, barred)


@kernel
def end_row(model: address, batch: address, workspace: address, row: count, last: count):
    """Free the slot of `row`, and move row `last` into its place."""
    m, b, w = model_at(model, 0), batch_at(batch, 0), workspace_at(workspace, 0)
    store_i64(b.lengths, load_i64(w.row_sentence, row), load_i64(w.row_step, row))
    store_i64(w.free_slots, w.free_count, load_i64(w.row_slot, row))
    w.free_count += 1
    if row == last:
        return
    store_i64(w.row_slot, row, load_i64(w.row_slot, last))
    store_i64(w.row_sentence, row, load_i64(w.row_sentence, last))
    store_i64(w.row_step, row, load_i64(w.row_step, last))
    store_i64(w.row_previous, row, load_i64(w.row_previous, last))
    for layer in range(m.decoder_layers):
        cells = w.cells + 4 * layer * w.slots * m.model_dim
        for k in range(0, m.model_dim, 16):
            store(cells + 4 * row * m.model_dim, k, load(cells + 4 * last * m.model_dim, k))


@kernel
def score_rows(model: address, batch: address, workspace: address, first: count, rows: count):
    """Logits of rows first ... first + rows - 1, float32 [rows, columns], into the workspace.

    Without a shortlist the rows share one output layer; with one, each has its own and comes alone.
    """
    m, b, w = model_at(model, 0), batch_at(batch, 0), workspace_at(workspace, 0)
    output = address_of(b.full_output)
    if b.full_output.weights == 0:
        output = w.outputs + LINEAR_BYTES * load_i64(w.row_slot, first)
    x = w.x + 4 * first * m.model_dim
    quantized = w.quantized + PLANES * first * m.model_dim
    linear(output, x, quantized, w.row_scales + 4 * first, rows, w.logits, AFFINE, 1)


@kernel
def choose(model: address, batch: address, workspace: address, row: count, logits: address) -> count:
    """Append the best piece to the row's translation; 1 if that ends it, else 0."""
    m, b, w = model_at(model, 0), batch_at(batch, 0), workspace_at(workspace, 0)
    slot, sentence, step = load_i64(w.row_slot, row), load_i64(w.row_sentence, row), load_i64(w.row_step, row)
    full = b.full_output.weights != 0
    columns = 16 * (b.full_output.panels if full else linear_at(w.outputs, slot).panels)
    best = best_index(logits, columns, m.unk_id if full else load_i64(w.barred, slot))
    gained = load_f32(logits, best) - log_normalizer(logits, columns)
    piece = best if full else load_i32(w.candidate_ids + 64 * slot * w.candidate_panels, best)
    store_f32(b.log_probs, sentence, load_f32(b.log_probs, sentence) + gained)
    store_i32(b.output + 4 * load_i64(b.output_offsets, sentence), step, piece)
    store_i64(w.row_step, row, step + 1)
    store_i64(w.row_previous, row, piece)
    return 1 if piece == m.eos_id or step + 1 >= load_i64(b.limits, sentence) else 0


@kernel
def translate_greedy(model: address, batch: address, workspace: address):
    """Translate a BATCH with a MODEL in the memory of a WORKSPACE."""
    b, w = batch_at(batch, 0), workspace_at(workspace, 0)
    waiting, active = 0, 0
    w.free_count = w.slots
    for slot in range(w.slots):
        store_i64(w.free_slots, slot, w.slots - 1 - slot)
    together = w.logit_rows if b.full_output.weights != 0 else 1
    while waiting < b.sentences or active > 0:
        if waiting < b.sentences and 2 * active <= w.slots:
            while waiting < b.sentences and active < w.slots:
                first, tokens = waiting, 0
                while waiting < b.sentences and active + waiting - first < w.slots:
                    length = load_i64(b.offsets, waiting + 1) - load_i64(b.offsets, waiting)
                    if tokens > 0 and tokens + length > w.tokens:
                        break
                    tokens += length
                    waiting += 1
                encode(model, workspace, b.ids, b.offsets + 8 * first, waiting - first)
                for sentence in range(first, waiting):
                    start_row(model, batch, workspace, sentence, active)
                    active += 1
        decode_step(model, workspace, active)
        last = active - 1  # rows are visited from the last to the first: a row that moves has been visited
        row = active
        while row > 0:
            block = lesser(together, row)
            row -= block
            score_rows(model, batch, workspace, row, block)
            columns = 16 * b.full_output.panels
            for i in range(block - 1, -1, -1):
                if choose(model, batch, workspace, row + i, w.logits + 4 * i * columns):
                    end_row(model, batch, workspace, row + i, last)
                    last -= 1
        active = last + 1
