"""The search for the best continuations while logits are computed, without storing whole rows of logits.

Fused output (Hoang et al. 2018): the output layer is multiplied in blocks of columns, and each row's block is searched
while it is in the nearest cache (kernels/fused_top_k). So all rows of a step share one pass over the weights, and
greedy search without scores only looks for the largest logit.

Rows that share only some candidates (output/layer) have few logits, and these are stored.

It serves searches of one model that do not use logits otherwise. Others (Search.whole_logits) and ensembles take the
stepwise way, `row_logits` and `step.choose`, which is the definition: the bits are the same.
"""

from cpunmt.architectures.records import MODEL, ROW
from cpunmt.kernels.fused_top_k import begin_row, end_row, take_scores
from cpunmt.kernels.matmul.row_products import score_pieces
from cpunmt.kernels.records import BLOCK, LINEAR, WANTED
from cpunmt.layers.linear import row_bytes
from cpunmt.search.output.blocks import WANTED_BYTES, take_layer
from cpunmt.search.output.candidates import column_of
from cpunmt.search.output.layer import LINEAR_BYTES, own_logits, row_columns, score_rows
from cpunmt.search.records import (
    BATCH,
    FUSED_ROWS,
    HYPOTHESIS,
    LOGITS,
    MEMBER,
    PICKED_COST,
    SLOT,
    WHOLE_COST,
    WORKSPACE,
)
from cpunmt.search.sentence import MINUS_INFINITY
from cpunmt.search.settings import SEARCH
from cpunmt.search.step import drop_improbable, forced_piece, wanted_continuations
from cpunmt.simd.intrinsics import (
    address_of,
    at,
    lesser,
    load_i32,
    load_i64,
    store_f32,
    store_i64,
)
from cpunmt.simd.jit import address, count, kernel


@kernel
def begin_choice(batch: address, workspace: address, row: count):
    """Sets what to look for in the logits of a row."""
    b, w = at(BATCH, batch, 0), at(WORKSPACE, workspace, 0)
    r, wanted, search = at(ROW, w.rows, row), at(WANTED, w.wanted, row), at(SEARCH, b.search, 0)
    s = at(SLOT, w.sentences, r.slot)
    wanted.columns, wanted.scores = w.best_columns + 8 * row * w.beam, w.best_logits + 4 * row * w.beam
    wanted.normalized, wanted.only = search.normalized, -1
    h = at(HYPOTHESIS, w.hypotheses, row)
    wanted.barred, wanted.also_barred = h.unk_column, -1
    if r.step < search.min_length:
        wanted.also_barred = h.eos_column
    forced = forced_piece(batch, s.sentence, r.step)
    if forced >= 0:
        wanted.k, wanted.only = 0, column_of(workspace, row, forced)
    else:
        wanted.k = wanted_continuations(batch, workspace, row)
    begin_row(address_of(wanted))
    if w.together:
        store_i64(w.own_counts, row, 0)


@kernel
def end_choice(batch: address, workspace: address, row: count):
    """Stores the result of the search in a row's hypothesis."""
    w = at(WORKSPACE, workspace, 0)
    h, wanted = at(HYPOTHESIS, w.hypotheses, row), at(WANTED, w.wanted, row)
    h.normalizer = end_row(address_of(wanted))
    h.taken, h.found = 0, wanted.found
    if wanted.k > 0:
        drop_improbable(batch, workspace, row)
    elif wanted.only < 0:  # forced, but not a candidate
        store_i64(wanted.columns, 0, -1)
        store_f32(wanted.scores, 0, MINUS_INFINITY)


@kernel
def row_behind(workspace: address, first: count, end: count) -> count:
    """Returns the row from `first` to `end` whose next candidate is the lowest piece; -1 if no candidate is left."""
    w = at(WORKSPACE, workspace, 0)
    found, lowest = -1, 0
    for row in range(first, end):
        h, position = at(HYPOTHESIS, w.hypotheses, row), load_i64(w.own_counts, row)
        if position < h.candidates:
            piece = load_i32(h.pieces, position)
            if found < 0 or piece < lowest:
                found, lowest = row, piece
    return found


@kernel
def take_next(workspace: address, row: count, together: count, most: count):
    """Reads at most `most` (a multiple of BLOCK) next candidates of `together` rows that have the same ones."""
    w = at(WORKSPACE, workspace, 0)
    member, h, begin = at(MEMBER, w.members, 0), at(HYPOTHESIS, w.hypotheses, row), load_i64(w.own_counts, row)
    m, size = at(MODEL, member.model, 0), lesser(most, h.candidates - begin)
    x, row_scales = member.hidden + 4 * row * m.model_dim, member.row_scales + 8 * row
    quantized = member.quantized + row * row_bytes(m.output.scheme, m.model_dim)
    columns, pieces, table = (size + 15) // 16 * 16, h.pieces + 4 * begin, address_of(m.output)
    score_pieces(table, m.model_dim, x, quantized, row_scales, together, pieces, size, w.logits)
    for i in range(together):
        take_scores(w.wanted + WANTED_BYTES * (row + i), w.logits + 4 * i * columns, begin, columns)
    store_i64(w.own_counts, row, begin + size)


@kernel
def take_rows(layer: address, workspace: address, own: address, first: count, rows: count):
    """Searches the logits of an output layer for the next of the rows; `own` as of `take_layer`."""
    w = at(WORKSPACE, workspace, 0)
    member = at(MEMBER, w.members, 0)
    depth = at(MODEL, member.model, 0).model_dim
    x, row_scales = member.hidden + 4 * first * depth, member.row_scales + 8 * first
    quantized = member.quantized + first * row_bytes(at(LINEAR, layer, 0).scheme, depth)
    wanted = w.wanted + WANTED_BYTES * first
    take_layer(layer, x, quantized, row_scales, rows, wanted, w.logits, own, first, member.room)


@kernel
def choose_by_row(batch: address, workspace: address, first: count, rows: count) -> count:
    """Does the same if each row has its own candidates.

    Neighbours with the same candidates are scored together. All others go through the table side by side, the row that
    is furthest behind first, so a piece's row is read from memory once, and later from a cache. If the rows have so
    many candidates that the product with the whole table is faster, each row takes its own from all logits.
    """
    b, w = at(BATCH, batch, 0), at(WORKSPACE, workspace, 0)
    end, groups, candidates = first + lesser(FUSED_ROWS, rows - first), 0, 0
    for row in range(first, end):
        begin_choice(batch, workspace, row)
        h = at(HYPOTHESIS, w.hypotheses, row)
        if row > first and at(HYPOTHESIS, w.hypotheses, row - 1).pieces == h.pieces:
            store_i64(w.own_counts, row, h.candidates)  # the count of the first row applies to all
        else:
            store_i64(w.own_counts, row, 0)
            groups += 1
            candidates += h.candidates
    row, pieces = first, at(MODEL, at(MEMBER, w.members, 0).model, 0).vocab_size
    if b.full_output and PICKED_COST * candidates > (WHOLE_COST + end - first) * pieces:
        for each in range(first, end):
            store_i64(w.own_counts, each, 0)
        take_rows(b.full_output, workspace, workspace, first, end - first)
        row = -1
    while row >= 0:
        own, together = at(HYPOTHESIS, w.hypotheses, row).pieces, 1
        while row + together < end and at(HYPOTHESIS, w.hypotheses, row + together).pieces == own:
            together += 1
        blocks = LOGITS // BLOCK // together if groups == 1 else 1
        take_next(workspace, row, together, BLOCK * (blocks if blocks > 1 else 1))
        row = row_behind(workspace, first, end)
    for row in range(first, end):
        end_choice(batch, workspace, row)
    return end - first


@kernel
def choose_together(batch: address, workspace: address, first: count, rows: count) -> count:
    """Does the same as `choose_fused` for rows that share some of their candidates, with whole rows of logits."""
    w = at(WORKSPACE, workspace, 0)
    scored = score_rows(batch, workspace, first, rows)
    for i in range(scored):
        row = first + i
        begin_choice(batch, workspace, row)
        logits, columns = own_logits(batch, workspace, 0, row, i), row_columns(batch, workspace, row)
        take_scores(w.wanted + WANTED_BYTES * row, logits, 0, columns)
        end_choice(batch, workspace, row)
    return scored


@kernel
def choose_fused(batch: address, workspace: address, first: count, rows: count) -> count:
    """Finds the best continuations of the next of `rows` hypotheses, from row `first` on; returns the number of rows
    handled.

    At most FUSED_ROWS rows that share an output layer: any rows, or those of one sentence if each has its own layer.
    """
    b, w = at(BATCH, batch, 0), at(WORKSPACE, workspace, 0)
    if b.clusters != 0:
        return choose_by_row(batch, workspace, first, rows)
    if b.full_output == 0 and w.together and w.common_share > 0:
        return choose_together(batch, workspace, first, rows)
    together, number = rows - first, w.slots
    if b.full_output == 0 and w.together == 0:
        number = at(ROW, w.rows, first).slot
        together = at(SLOT, w.sentences, number).live
    together = lesser(FUSED_ROWS, together)
    for row in range(first, first + together):
        begin_choice(batch, workspace, row)
    layer = at(MEMBER, w.members, 0).outputs + LINEAR_BYTES * number
    if b.full_output:
        layer = b.full_output
    take_rows(layer, workspace, workspace if b.full_output == 0 and w.sharing > 1 else 0, first, together)
    for row in range(first, first + together):
        end_choice(batch, workspace, row)
    return together
