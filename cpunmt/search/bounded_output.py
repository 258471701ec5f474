"""The best continuation over the whole vocabulary, from little more than half of the output layer's bytes.

A greedy search needs only the largest logit. The products with the upper halves of the weights bound every logit
(kernels/high_halves). The few pieces that may still be the best are scored as always, so the choice and its logit are
those of `fused_output`, to the bit.

Log-probabilities need all logits, but not before the sentence ends: then one product of all its rows reads the weights
once, instead of each step (`score_ended`).

If a step leaves many pieces, as in a model that is sure of nothing, this takes longer than all logits. Then the
sentence pauses the bounds for a step, and for twice as many each time that this happens again.
"""

import numpy as np

from cpunmt.architectures.records import MODEL, ROW
from cpunmt.kernels.copying import copy_floats
from cpunmt.kernels.fused_top_k import begin_row, end_row
from cpunmt.kernels.high_halves import distance_of, drop_impossible, keep_possible
from cpunmt.kernels.matmul.int8_matmul import AFFINE
from cpunmt.kernels.matmul.parts import cut_panels
from cpunmt.kernels.matmul.row_products import score_pieces
from cpunmt.kernels.records import BLOCK, HALVES, LINEAR, POSSIBLE, WANTED
from cpunmt.kernels.softmax import LOWEST
from cpunmt.layers.linear import linear, row_bytes
from cpunmt.search.fused_output import begin_choice, end_choice
from cpunmt.search.history import item_place
from cpunmt.search.output.blocks import new_linear, take_layer
from cpunmt.search.records import BATCH, ENDED, FUSED_ROWS, HYPOTHESIS, ITEM, LOGITS, MEMBER, SLOT, WORKSPACE
from cpunmt.search.settings import SEARCH
from cpunmt.search.step import end_hypothesis
from cpunmt.simd.intrinsics import address_of, at, lesser, load_f32, load_i32, store_f32, store_i32, store_i64
from cpunmt.simd.jit import address, count, kernel

MANY_DIVISOR = 2  # pieces are many if they are more than the vocabulary divided by this
LONGEST_PAUSE = 16  # steps
_PANELS = BLOCK // 16


@kernel
def is_bounded(workspace: address, row: count) -> count:
    """Returns whether a row's best piece is sought by bounds in this step."""
    w = at(WORKSPACE, workspace, 0)
    paused = at(SLOT, w.sentences, at(ROW, w.rows, row).slot).paused
    return 1 if at(WANTED, w.wanted, row).k > 0 and paused == 0 else 0


@kernel
def bar(logits: address, first: count, length: count, piece: count):
    """Excludes a piece from the bound of the best, if its logit is among those of the columns from `first` on."""
    if first <= piece and piece < first + length:
        store_f32(logits, piece - first, LOWEST)


@kernel
def bound_rows(batch: address, workspace: address, rows: count):
    """Lists the pieces that may be the best of each row for which bounds are used."""
    w, halves = at(WORKSPACE, workspace, 0), at(HALVES, at(BATCH, batch, 0).halves, 0)
    member, high = at(MEMBER, w.members, 0), address_of(halves.high)
    depth, part = at(MODEL, member.model, 0).model_dim, address_of(new_linear())
    blocks = LOGITS // BLOCK // rows
    step = _PANELS * (blocks if blocks > 1 else 1)
    for panel in range(0, at(LINEAR, high, 0).panels, step):
        begin, columns = 16 * panel, 16 * cut_panels(high, panel, step, part)
        linear(part, member.hidden, member.quantized, member.row_scales, rows, w.logits, AFFINE, member.room)
        for row in range(rows):
            if is_bounded(workspace, row):
                distance = distance_of(member.hidden + 4 * row * depth, depth, member.row_scales + 8 * row)
                wanted, logits = at(WANTED, w.wanted, row), w.logits + 4 * row * columns
                bar(logits, begin, columns, wanted.barred)
                bar(logits, begin, columns, wanted.also_barred)
                possible = address_of(at(POSSIBLE, w.possible, row))
                keep_possible(possible, logits, halves.reach + 4 * begin, distance, begin, columns)


@kernel
def list_pieces(batch: address, workspace: address, row: count):
    """Lists the pieces to score for a row: those that may be the best, the one that a prefix forces, or all."""
    w = at(WORKSPACE, workspace, 0)
    possible, wanted = at(POSSIBLE, w.possible, row), at(WANTED, w.wanted, row)
    s = at(SLOT, w.sentences, at(ROW, w.rows, row).slot)
    pieces = at(MODEL, at(MEMBER, w.members, 0).model, 0).vocab_size
    if is_bounded(workspace, row):
        drop_impossible(address_of(possible), pieces)
        if MANY_DIVISOR * possible.count > pieces:
            s.paused, s.pause = s.pause, lesser(2 * s.pause, LONGEST_PAUSE)
        else:
            s.pause = 1
    elif wanted.k > 0:
        s.paused -= 1
        possible.count = pieces
        for piece in range(pieces):
            store_i32(possible.pieces, piece, piece)
    elif wanted.only >= 0:
        possible.count = 1
        store_i32(possible.pieces, 0, wanted.only)


@kernel
def score_possible(workspace: address, row: count, pieces: address, length: count):
    """Scores int32 pieces [length], at least one, and takes the best, the first of equal ones."""
    w = at(WORKSPACE, workspace, 0)
    member, wanted = at(MEMBER, w.members, 0), at(WANTED, w.wanted, row)
    m = at(MODEL, member.model, 0)
    x, row_scales = member.hidden + 4 * row * m.model_dim, member.row_scales + 8 * row
    quantized, table = member.quantized + row * row_bytes(m.output.scheme, m.model_dim), address_of(m.output)
    for begin in range(0, length, BLOCK):
        size, some = lesser(BLOCK, length - begin), pieces + 4 * begin
        score_pieces(table, m.model_dim, x, quantized, row_scales, 1, some, size, w.logits)
        for i in range(size):
            piece, logit = load_i32(some, i), load_f32(w.logits, i)
            if wanted.k == 0:
                store_f32(wanted.scores, 0, logit)
            elif logit > load_f32(wanted.scores, 0) and piece != wanted.barred and piece != wanted.also_barred:
                store_f32(wanted.scores, 0, logit)
                store_i64(wanted.columns, 0, piece)
                wanted.found = 1


@kernel
def keep_row(batch: address, workspace: address, row: count):
    """Keeps the input of the output layer for `score_ended`."""
    b, w = at(BATCH, batch, 0), at(WORKSPACE, workspace, 0)
    member, r = at(MEMBER, w.members, 0), at(ROW, w.rows, row)
    m = at(MODEL, member.model, 0)
    if at(SEARCH, b.search, 0).normalized:
        size, place = row_bytes(m.output.scheme, m.model_dim), r.slot * w.steps + r.step
        copy_floats(member.quantized + row * size, size // 4, w.output_rows + place * size)
        copy_floats(member.row_scales + 8 * row, 2, w.output_scales + 8 * place)


@kernel
def choose_bounded(batch: address, workspace: address, rows: count) -> count:
    """Finds the best continuation of each of `rows` hypotheses, all of a step; returns their number.

    They are at most tile_shapes.CODED_ROWS, of greedy searches.
    """
    w, bounded = at(WORKSPACE, workspace, 0), 0
    for row in range(rows):
        begin_choice(batch, workspace, row)
        at(WANTED, w.wanted, row).normalized = 0
        possible = at(POSSIBLE, w.possible, row)
        possible.count, possible.least = 0, LOWEST
        bounded += is_bounded(workspace, row)
    if bounded:
        bound_rows(batch, workspace, rows)
    for row in range(rows):
        list_pieces(batch, workspace, row)
        possible, wanted = at(POSSIBLE, w.possible, row), at(WANTED, w.wanted, row)
        score_possible(workspace, row, possible.pieces, possible.count)
        if wanted.found == 0 and wanted.only < 0 and wanted.barred != 0 and wanted.also_barred != 0:
            store_i32(possible.pieces, 0, 0)  # no score is a number: as in fused_top_k
            wanted.k = 0
            score_possible(workspace, row, possible.pieces, 1)
            wanted.k = 1
        end_choice(batch, workspace, row)
        at(HYPOTHESIS, w.hypotheses, row).normalizer = np.float32(0.0)  # see score_ended
        keep_row(batch, workspace, row)
    return rows


@kernel
def score_ended(batch: address, workspace: address, slot: count):
    """Computes the log-probabilities of a sentence that has ended, and its score."""
    b, w = at(BATCH, batch, 0), at(WORKSPACE, workspace, 0)
    search, s, ended = at(SEARCH, b.search, 0), at(SLOT, w.sentences, slot), at(ENDED, w.ended, slot * w.beam)
    member = at(MEMBER, w.members, 0)
    m = at(MODEL, member.model, 0)
    size, steps, total = row_bytes(m.output.scheme, m.model_dim), ended.step + 1, np.float32(0.0)
    for first in range(0, steps, FUSED_ROWS):
        rows, place = lesser(FUSED_ROWS, steps - first), slot * w.steps + first
        for i in range(rows):
            wanted = at(WANTED, w.ended_wanted, i)
            wanted.normalized, wanted.k, wanted.only, wanted.barred, wanted.also_barred = 1, 0, -1, -1, -1
            wanted.columns, wanted.scores = w.best_columns, w.best_logits
            begin_row(address_of(wanted))
        quantized, row_scales = w.output_rows + place * size, w.output_scales + 8 * place
        take_layer(b.full_output, 0, quantized, row_scales, rows, w.ended_wanted, w.logits, 0, 0, member.room)
        for i in range(rows):
            entry = at(ITEM, w.history, item_place(workspace, slot, first + i, 0))
            entry.log_prob = entry.log_prob - end_row(address_of(at(WANTED, w.ended_wanted, i)))
            if first + i < search.prompt:
                entry.log_prob = np.float32(0.0)
            else:
                total = total + entry.log_prob
            entry.sum = total
    s.ended = 0
    end_hypothesis(batch, workspace, slot, steps - 1, 0)
