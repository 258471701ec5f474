"""The output layer of the rows of a step: over the whole vocabulary, or over the candidates of their sentences.

Candidates are few, but each sentence has its own. If many sentences are decoded side by side, the reading of all their
weights bounds a step. Half of the candidates of 13 sentences of news are the same 700 pieces, most others belong to one
or two of them. So one product gives all rows the logits of common candidates, another one the rows of a sentence those
of its other candidates, and a row picks its own from both. A logit is the same to the bit either way, because the
columns of a product do not depend on each other.

    gather_slot   gather an output layer for a sentence that begins
    share         choose and gather the common candidates of all sentences that are being decoded
    score_rows    logits of rows that share an output layer
    own_logits    logits of one of these rows, of its own candidates only
    keep_logits   write logits to the call's output

In an ensemble each model has its own layers, over the same candidates.
"""

import numpy as np

from cpunmt.architectures.records import MODEL, ROW
from cpunmt.kernels.candidates import (
    choose_common,
    count_pieces,
    gather_output,
    pick_columns,
    place_columns,
    take_marked,
)
from cpunmt.kernels.copying import copy_floats
from cpunmt.kernels.matmul.int8_matmul import AFFINE
from cpunmt.kernels.matmul.parts import cut_panels
from cpunmt.kernels.matmul.row_products import score_pieces
from cpunmt.kernels.records import LINEAR
from cpunmt.layers.linear import linear, row_bytes
from cpunmt.search.output.candidates import column_piece
from cpunmt.search.records import BATCH, HYPOTHESIS, MEMBER, SLOT, WORKSPACE
from cpunmt.simd.intrinsics import address_of, at, lesser, load_f32, load_i32, load_i64, store_f32, store_i32, store_i64
from cpunmt.simd.jit import address, count, kernel

LINEAR_BYTES = LINEAR.itemsize
MOST_LATER = 4  # for each sentence whose list chose the common candidates; then they are chosen again


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
    """Gathers the candidates of the sentence that begins in a slot, unless common candidates must be chosen first."""
    w = at(WORKSPACE, workspace, 0)
    w.later += 1
    if w.together == 0:
        pieces = w.candidate_ids + 64 * slot * w.candidate_panels
        gather_layers(workspace, slot, pieces, candidates, (candidates + 15) // 16)
    elif w.common_share == 0 or w.later > MOST_LATER * w.sharing:
        w.sharing = 0  # all candidates of all sentences are common, or the common ones may have changed
    else:
        gather_others(workspace, slot, candidates)


@kernel
def gather_others(workspace: address, slot: count, candidates: count):
    """Gathers those candidates of a slot's sentence that are not common, and finds the columns of all of them."""
    w = at(WORKSPACE, workspace, 0)
    s, stride = at(SLOT, w.sentences, slot), 64 * w.candidate_panels
    behind = (w.common // 16 + 1) * 16  # the common columns, of which at least one belongs to no piece
    pieces, columns = w.candidate_ids + stride * slot, w.columns + stride * slot
    others = place_columns(pieces, candidates, w.places, w.common, behind, columns, w.other_ids)
    panels = (others + 15) // 16
    if panels > s.panels:
        if panels > w.room_panels - w.room_taken:
            w.sharing = 0  # all are gathered again, one behind another
            return
        s.first_panel, s.panels = w.room_taken, panels
        w.room_taken += panels
    place_layers(workspace, slot, s.first_panel, panels)
    gather_layers(workspace, slot, w.other_ids, others, panels)


@kernel
def place_layers(workspace: address, number: count, first: count, panels: count):
    """Makes the output layers `number` of all models the part of their room from panel `first` on."""
    w = at(WORKSPACE, workspace, 0)
    for k in range(w.models):
        outputs = at(MEMBER, w.members, k).outputs
        cut_panels(outputs + LINEAR_BYTES * (w.slots + 1), first, panels, outputs + LINEAR_BYTES * number)


@kernel
def share(model: address, workspace: address, active: count):
    """Gathers an output layer of candidates that are common to the sentences in the slots int64 `w.active` [active],
    and for each of them one of its other candidates.

    Common is what more than `common_share` of their lists have, or all if nothing is, or if the others have no room.
    """
    w = at(WORKSPACE, workspace, 0)
    share_frequent(model, workspace, active, np.int64(w.common_share * active))
    if w.sharing == 0:
        share_frequent(model, workspace, active, 0)


@kernel
def share_frequent(model: address, workspace: address, active: count, lists: count):
    """Does the same; common is what more than `lists` of the lists have. `sharing` stays 0 if that cannot be."""
    m, w = at(MODEL, model, 0), at(WORKSPACE, workspace, 0)
    stride = 64 * w.candidate_panels
    for i in range(w.common):
        store_i32(w.places, load_i32(w.common_ids, i), -1)
    for i in range(active):
        slot = load_i64(w.active, i)
        count_pieces(w.candidate_ids + stride * slot, at(SLOT, w.sentences, slot).candidates, w.marks, w.places)
    w.common = choose_common(w.common_ids, take_marked(w.marks, m.vocab_size, w.common_ids), lists, w.places)
    w.sharing, w.later, w.room_taken = active if w.common > 0 else 0, 0, w.common // 16 + 1
    if w.common == 0:
        return
    place_layers(workspace, w.slots, 0, w.room_taken)
    gather_layers(workspace, w.slots, w.common_ids, w.common, w.room_taken)
    for slot in range(w.slots):
        s = at(SLOT, w.sentences, slot)
        s.first_panel, s.panels = 0, 0
    for i in range(active):
        slot = load_i64(w.active, i)
        if w.sharing > 0:
            gather_others(workspace, slot, at(SLOT, w.sentences, slot).candidates)


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
def score_layer(member: address, output: address, first: count, rows: count, logits: address):
    """Computes the logits of `rows` rows of a MEMBER, from `first` on, over an output layer of its own."""
    m = at(MEMBER, member, 0)
    depth = at(MODEL, m.model, 0).model_dim
    x, quantized = m.hidden + 4 * first * depth, m.quantized + first * row_bytes(at(LINEAR, output, 0).scheme, depth)
    linear(output, x, quantized, m.row_scales + 8 * first, rows, logits, AFFINE, m.room)


@kernel
def score_rows(batch: address, workspace: address, first: count, rows: count) -> count:
    """Computes the logits of the next of `rows` rows, from `first` on, that share output layers; returns their number.

    Without a shortlist, and with common candidates, all rows share them, else those of one sentence.
    """
    b, w = at(BATCH, batch, 0), at(WORKSPACE, workspace, 0)
    if b.clusters != 0:
        return score_row(workspace, first)
    number, together = w.slots, lesser(w.logit_rows, rows - first)
    if b.full_output == 0 and w.together == 0:
        number = at(ROW, w.rows, first).slot
        together = at(SLOT, w.sentences, number).live
    for k in range(w.models):
        member = at(MEMBER, w.members, k)
        output = member.outputs + LINEAR_BYTES * number
        if b.full_output:
            output = b.full_output + LINEAR_BYTES * k
        w.logit_columns = 16 * at(LINEAR, output, 0).panels
        logits = w.logits + 4 * k * w.logit_rows * w.logit_columns
        score_layer(address_of(member), output, first, together, logits)
    if b.full_output == 0 and w.together and w.common_share > 0:
        score_others(workspace, first, together)
    return together


@kernel
def score_others(workspace: address, first: count, rows: count):
    """Computes the logits of candidates that are not common, of at most `logit_rows` rows from `first` on."""
    w = at(WORKSPACE, workspace, 0)
    stride = 64 * w.candidate_panels
    row, panels = first, 0
    while row < first + rows:
        slot, end = at(ROW, w.rows, row).slot, row + 1
        while end < first + rows and at(ROW, w.rows, end).slot == slot:
            end += 1
        out = w.other_logits + stride * (row - first)
        for k in range(w.models):
            member = at(MEMBER, w.members, k)
            output = member.outputs + LINEAR_BYTES * slot
            panels = at(LINEAR, output, 0).panels  # as many in all models
            if panels > 0:
                score_layer(address_of(member), output, row, end - row, out + stride * w.logit_rows * k)
        for i in range(row, end):
            store_i64(w.other_rows, i, out + 64 * panels * (i - row))
        row = end


@kernel
def row_columns(batch: address, workspace: address, row: count) -> count:
    """Returns the number of logits of a row, a multiple of 16."""
    b, w = at(BATCH, batch, 0), at(WORKSPACE, workspace, 0)
    if b.full_output == 0 and w.together:
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
    if b.full_output == 0 and w.together:
        slot, stride = at(ROW, w.rows, row).slot, 64 * w.candidate_panels
        picked = w.picked if k == 0 else w.picked + stride
        others = 16 * at(LINEAR, at(MEMBER, w.members, k).outputs, slot).panels
        if others > 0:
            copy_floats(logits, w.logit_columns, w.both)
            other = load_i64(w.other_rows, row) + stride * w.logit_rows * k
            copy_floats(other, others, w.both + 4 * w.logit_columns)
            logits = w.both
        pick_columns(logits, w.columns + stride * slot, row_columns(batch, workspace, row), picked)
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
