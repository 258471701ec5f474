"""The output layer of the rows of a step: over the whole vocabulary, or over the candidates of their sentences.

Candidates are few, but each sentence has its own, and where many sentences are decoded side by side reading all of
their weights bounds a step. The candidates of all of them together are far fewer than their sum (2,700 and 10,000 of
13 sentences of news), so one product serves all rows, and each row picks its own logits (`united`). A logit is the same
to the bit either way, for no column of a product depends on another.

    unite         gather one output layer for all sentences that are being decoded
    score_rows    logits of rows that share an output layer
    row_logits    those of one of these rows: of its own candidates only
"""

from cpunmt.architectures.records import MODEL, ROW
from cpunmt.kernels.candidates import gather_output, mark_pieces, pick_columns, place_columns, take_marked
from cpunmt.kernels.matmul.int8_matmul import AFFINE
from cpunmt.kernels.records import LINEAR
from cpunmt.layers.linear import linear, row_bytes
from cpunmt.search.records import BATCH, SLOT, WORKSPACE
from cpunmt.simd.intrinsics import address_of, at, lesser, load_i32, load_i64, store_i32
from cpunmt.simd.jit import address, count, kernel

LINEAR_BYTES = LINEAR.itemsize


@kernel
def unite(model: address, workspace: address, active: count):
    """Gather the candidates of the sentences in the slots int64 `w.active` [active] as one output layer."""
    m, w = at(MODEL, model, 0), at(WORKSPACE, workspace, 0)
    stride = 64 * w.candidate_panels
    for i in range(active):
        slot = load_i64(w.active, i)
        mark_pieces(w.candidate_ids + stride * slot, at(SLOT, w.sentences, slot).candidates, w.marks)
    found = take_marked(w.marks, m.vocab_size, w.united_ids)
    output = at(LINEAR, w.outputs, 0)
    output.panels = found // 16 + 1  # at least one column is none of theirs: what fills up a sentence's own
    gather_output(address_of(m.output), w.united_ids, found, m.model_dim, w.pointers, address_of(output))
    for column in range(found):
        store_i32(w.places, load_i32(w.united_ids, column), column)
    for i in range(active):
        slot = load_i64(w.active, i)
        candidates, place = at(SLOT, w.sentences, slot).candidates, stride * slot
        place_columns(w.candidate_ids + place, candidates, w.places, found, w.columns + place)
    w.united = active


@kernel
def score_rows(model: address, batch: address, workspace: address, first: count, rows: count) -> count:
    """Logits of the next of `rows` rows, from row `first` on, those that share an output layer; returns how many.

    Without a shortlist, and where candidates are united, all rows share it, else those of one sentence.
    """
    m, b, w = at(MODEL, model, 0), at(BATCH, batch, 0), at(WORKSPACE, workspace, 0)
    output, together = b.full_output, lesser(w.logit_rows, rows - first)
    if output == 0 and w.together:
        output = w.outputs
    elif output == 0:
        slot = at(ROW, w.rows, first).slot
        output, together = w.outputs + LINEAR_BYTES * slot, at(SLOT, w.sentences, slot).live
    layer = at(LINEAR, output, 0)
    w.logit_columns = 16 * layer.panels
    x = w.hidden + 4 * first * m.model_dim
    quantized = w.quantized + first * row_bytes(layer.scheme, m.model_dim)
    linear(output, x, quantized, w.row_scales + 8 * first, together, w.logits, AFFINE)
    return together


@kernel
def row_columns(batch: address, workspace: address, row: count) -> count:
    """How many logits a row has, a multiple of 16."""
    b, w = at(BATCH, batch, 0), at(WORKSPACE, workspace, 0)
    if b.full_output == 0 and w.united > 1:
        return (at(SLOT, w.sentences, at(ROW, w.rows, row).slot).candidates + 15) // 16 * 16
    return w.logit_columns


@kernel
def row_logits(batch: address, workspace: address, row: count, number: count) -> address:
    """Where the logits of `row` are, the one of that `number` among those that `score_rows` has scored.

    They are float32 [row_columns]; may be overwritten.
    """
    b, w = at(BATCH, batch, 0), at(WORKSPACE, workspace, 0)
    logits = w.logits + 4 * number * w.logit_columns
    if b.full_output == 0 and w.united > 1:
        slot = at(ROW, w.rows, row).slot
        columns = row_columns(batch, workspace, row)
        pick_columns(logits, w.columns + 64 * slot * w.candidate_panels, columns, w.picked)
        return w.picked
    return logits
