"""The output layer of the rows of a step: over the whole vocabulary, or over the candidates of their sentences.

Candidates are few, but each sentence has its own. If many sentences are decoded side by side, the reading of all their
weights bounds a step. Their different candidates are far fewer than the sum (2,700 of 10,000 in 13 sentences of news),
so one product serves all rows, and each row picks its own logits (`united`). A logit is the same to the bit either way,
because the columns of a product do not depend on each other.

    gather_slot   gather an output layer for a sentence that begins
    unite         gather one output layer for all sentences that are being decoded
    score_rows    logits of rows that share an output layer
    own_logits    logits of one of these rows, of its own candidates only
    keep_logits   write logits to the call's output

In an ensemble each model has its own layers, over the same candidates.
"""

from cpunmt.architectures.records import MODEL, ROW
from cpunmt.kernels.candidates import gather_output, mark_pieces, pick_columns, place_columns, take_marked
from cpunmt.kernels.matmul.int8_matmul import AFFINE
from cpunmt.kernels.matmul.row_products import score_pieces
from cpunmt.kernels.records import LINEAR
from cpunmt.layers.linear import linear, row_bytes
from cpunmt.search.output.candidates import column_piece
from cpunmt.search.records import BATCH, HYPOTHESIS, MEMBER, SLOT, WORKSPACE
from cpunmt.simd.intrinsics import address_of, at, lesser, load_f32, load_i32, load_i64, store_f32, store_i32
from cpunmt.simd.jit import address, count, kernel

LINEAR_BYTES = LINEAR.itemsize


@kernel
def gather_layers(workspace: address, number: count, pieces: address, candidates: count, panels: count):
    """Reduces the output layers `number` of all models to int32 pieces [candidates], in `panels` panels."""
    w = at(WORKSPACE, workspace, 0)
    for k in range(w.models):
        member = at(MEMBER, w.members, k)
        m, output = at(MODEL, member.model, 0), at(LINEAR, member.outputs, number)
        output.panels = panels
        gather_output(
            address_of(m.output), pieces, candidates, m.model_dim, w.pointers, member.room, address_of(output)
        )


@kernel
def gather_slot(workspace: address, slot: count, candidates: count):
    """Gathers the candidates of the sentence that begins in a slot, unless all slots' candidates are united later."""
    w = at(WORKSPACE, workspace, 0)
    if w.together:
        w.united = 0  # no longer the candidates of all sentences
    else:
        pieces = w.candidate_ids + 64 * slot * w.candidate_panels
        gather_layers(workspace, slot, pieces, candidates, (candidates + 15) // 16)


@kernel
def unite(model: address, workspace: address, active: count):
    """Gathers the candidates of the sentences in the slots int64 `w.active` [active] as one output layer."""
    m, w = at(MODEL, model, 0), at(WORKSPACE, workspace, 0)
    stride = 64 * w.candidate_panels
    for i in range(active):
        slot = load_i64(w.active, i)
        mark_pieces(w.candidate_ids + stride * slot, at(SLOT, w.sentences, slot).candidates, w.marks)
    found = take_marked(w.marks, m.vocab_size, w.united_ids)
    # at least one column belongs to no candidate, and pads a sentence's own
    gather_layers(workspace, 0, w.united_ids, found, found // 16 + 1)
    for column in range(found):
        store_i32(w.places, load_i32(w.united_ids, column), column)
    for i in range(active):
        slot = load_i64(w.active, i)
        candidates, place = at(SLOT, w.sentences, slot).candidates, stride * slot
        place_columns(w.candidate_ids + place, candidates, w.places, found, w.columns + place)
    w.united = active


@kernel
def score_row(workspace: address, row: count) -> count:
    """Computes the logits of a row with its own candidates; returns 1, the number of rows."""
    w = at(WORKSPACE, workspace, 0)
    member, h = at(MEMBER, w.members, 0), at(HYPOTHESIS, w.hypotheses, row)
    m = at(MODEL, member.model, 0)
    x, row_scales = member.hidden + 4 * row * m.model_dim, member.row_scales + 8 * row
    quantized = member.quantized + row * row_bytes(m.output.scheme, m.model_dim)
    w.logit_columns = (h.candidates + 15) // 16 * 16
    score_pieces(address_of(m.output), m.model_dim, x, quantized, row_scales, 1, h.pieces, h.candidates, w.logits)
    return 1


@kernel
def score_rows(batch: address, workspace: address, first: count, rows: count) -> count:
    """Computes the logits of the next of `rows` rows, from `first` on, that share output layers; returns their number.

    Without a shortlist, and with united candidates, all rows share them, else those of one sentence.
    """
    b, w = at(BATCH, batch, 0), at(WORKSPACE, workspace, 0)
    if b.clusters != 0:
        return score_row(workspace, first)
    number, together = 0, lesser(w.logit_rows, rows - first)
    if b.full_output == 0 and w.together == 0:
        number = at(ROW, w.rows, first).slot
        together = at(SLOT, w.sentences, number).live
    for k in range(w.models):
        member = at(MEMBER, w.members, k)
        output, depth = member.outputs + LINEAR_BYTES * number, at(MODEL, member.model, 0).model_dim
        if b.full_output:
            output = b.full_output + LINEAR_BYTES * k
        layer = at(LINEAR, output, 0)
        w.logit_columns = 16 * layer.panels
        x = member.hidden + 4 * first * depth
        quantized = member.quantized + first * row_bytes(layer.scheme, depth)
        logits = w.logits + 4 * k * w.logit_rows * w.logit_columns
        linear(output, x, quantized, member.row_scales + 8 * first, together, logits, AFFINE, member.room)
    return together


@kernel
def row_columns(batch: address, workspace: address, row: count) -> count:
    """Returns the number of logits of a row, a multiple of 16."""
    b, w = at(BATCH, batch, 0), at(WORKSPACE, workspace, 0)
    if b.full_output == 0 and w.united > 1:
        return (at(SLOT, w.sentences, at(ROW, w.rows, row).slot).candidates + 15) // 16 * 16
    return w.logit_columns


@kernel
def own_logits(batch: address, workspace: address, k: count, row: count, number: count) -> address:
    """Returns the address of model k's logits of `row`, which has that `number` among the rows scored by `score_rows`.

    They are float32 [row_columns], and may be overwritten. The first model's stay until its next call, another model's
    until the next call.
    """
    b, w = at(BATCH, batch, 0), at(WORKSPACE, workspace, 0)
    logits = w.logits + 4 * (k * w.logit_rows + number) * w.logit_columns
    if b.full_output == 0 and w.united > 1:
        slot = at(ROW, w.rows, row).slot
        picked = w.picked if k == 0 else w.picked + 64 * w.candidate_panels
        columns = row_columns(batch, workspace, row)
        pick_columns(logits, w.columns + 64 * slot * w.candidate_panels, columns, picked)
        return picked
    return logits


@kernel
def keep_logits(batch: address, workspace: address, row: count, logits: address):
    """Writes float32 logits of the candidates of a row, the only one of its sentence, to `vocab_logits`.

    Sums of several models are written as log-probabilities. Values of other pieces stay unchanged.
    """
    b, w = at(BATCH, batch, 0), at(WORKSPACE, workspace, 0)
    r = at(ROW, w.rows, row)
    s = at(SLOT, w.sentences, r.slot)
    h = at(HYPOTHESIS, w.hypotheses, row)
    size = at(MODEL, at(MEMBER, w.members, 0).model, 0).vocab_size
    kept = b.vocab_logits + 4 * size * (load_i64(b.output_offsets, s.sentence) + r.step)
    normalizer = h.normalizer
    for column in range(h.candidates):
        logit = load_f32(logits, column)
        if w.models > 1:
            logit = logit - normalizer
        store_f32(kept, column_piece(workspace, row, column), logit)
