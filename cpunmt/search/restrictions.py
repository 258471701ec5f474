"""Restrictions on the next pieces of a hypothesis, by its pieces so far.

Repetition penalty t: the logit s of each earlier piece becomes s / t if it is above 0, else s t, in each model
before its softmax (Keskar et al. 2019, https://arxiv.org/abs/1909.05858; as in CTranslate2).

Pieces are forbidden if they would complete an earlier n-gram of length `no_repeat_ngram_size` again or a suppressed
sequence, and `end_pieces` before `min_length`. They keep their share of the probability, as <unk> does, so the chosen
pieces have the model's log-probabilities. </s> is never forbidden.

Forced pieces of a prefix count as earlier pieces, and are never forbidden.
"""

import numpy as np

from cpunmt.architectures.records import ROW
from cpunmt.kernels.softmax import LOWEST
from cpunmt.search.history import item_place
from cpunmt.search.output.candidates import column_of
from cpunmt.search.records import BATCH, ITEM, WORKSPACE
from cpunmt.search.settings import SEARCH
from cpunmt.simd.intrinsics import at, load_f32, load_i32, load_i64, store_f32, store_i32
from cpunmt.simd.jit import address, count, kernel, real


@kernel
def pieces_said(workspace: address, row: count) -> count:
    """Writes the pieces of a row's hypothesis to int32 `w.said`; returns their number."""
    w = at(WORKSPACE, workspace, 0)
    r = at(ROW, w.rows, row)
    item = r.item
    for step in range(r.step - 1, -1, -1):
        entry = at(ITEM, w.history, item_place(workspace, r.slot, step, item))
        store_i32(w.said, step, np.int64(entry.piece))
        item = np.int64(entry.parent)
    return r.step


@kernel
def penalize(batch: address, workspace: address, row: count, logits: address, penalty: real):
    """Lowers the logits of earlier pieces, or raises them if the penalty is below 1."""
    w = at(WORKSPACE, workspace, 0)
    said = pieces_said(workspace, row)
    for i in range(said):  # all are read before the first is written, so a repeated piece is penalized once
        column = column_of(workspace, row, load_i32(w.said, i))
        store_f32(w.said_logits, i, load_f32(logits, column) if column >= 0 else LOWEST)
    for i in range(said):
        column = column_of(workspace, row, load_i32(w.said, i))
        if column >= 0:
            logit = load_f32(w.said_logits, i)
            store_f32(logits, column, logit / penalty if logit > 0 else logit * penalty)


@kernel
def has_said(workspace: address, first: count, pieces: address, length: count) -> count:
    """Returns whether int32 pieces [length] equal `w.said` from `first` on."""
    w = at(WORKSPACE, workspace, 0)
    for i in range(length):
        if load_i32(w.said, first + i) != load_i32(pieces, i):
            return 0
    return 1


@kernel
def forbid(batch: address, workspace: address, row: count, logits: address):
    """Sets the logits of forbidden pieces to LOWEST."""
    b, w = at(BATCH, batch, 0), at(WORKSPACE, workspace, 0)
    search = at(SEARCH, b.search, 0)
    said, before = pieces_said(workspace, row), search.no_repeat_ngram_size - 1
    if before >= 0:
        for end in range(before, said):
            if has_said(workspace, end - before, w.said + 4 * (said - before), before):
                column = column_of(workspace, row, load_i32(w.said, end))
                if column >= 0:
                    store_f32(logits, column, LOWEST)
    if said < search.min_length:
        for i in range(search.end_count):
            column = column_of(workspace, row, load_i32(search.end_ids, i))
            if column >= 0:
                store_f32(logits, column, LOWEST)
    for number in range(search.suppressed_count):
        first, last = load_i64(search.suppressed_offsets, number), load_i64(search.suppressed_offsets, number + 1) - 1
        length = last - first
        if length <= said and has_said(workspace, said - length, search.suppressed_ids + 4 * first, length):
            column = column_of(workspace, row, load_i32(search.suppressed_ids, last))
            if column >= 0:
                store_f32(logits, column, LOWEST)
