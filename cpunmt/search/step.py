"""One step of the search: from the decoder's output to the hypotheses that go on.

    choose        the best continuations of one hypothesis, by its own logits
    select        the best of all continuations of a sentence, by the sum of their log-probabilities

A hypothesis ends with </s>, or one of `end_pieces` that no prefix forces. It leaves the beam, which shrinks by one, as
in Marian; <unk> is never chosen, but keeps its share of the probability. Of equal sums the one with the better parent
is taken first, then the one with the lower id.

With patience (Kasai et al. 2022, https://arxiv.org/abs/2204.05424) the beam does not shrink: ends among the best
`beam_size` continuations leave it, the best others fill it, and the search is over once `most_ended` have ended. At the
length limit the best `beam_size` end.

Samples (search.sampling) and alternatives do not compete: behind the prefix a hypothesis begins with each of the
continuations found there, and each goes on with one at a time.
"""

import numpy as np

from cpunmt.architectures.records import MODEL, ROW
from cpunmt.kernels.activations import log
from cpunmt.kernels.softmax import LOWEST
from cpunmt.kernels.top_k import top_k
from cpunmt.search.early_stop import is_settled
from cpunmt.search.history import attention_address, item_place
from cpunmt.search.output.candidates import column_of, column_piece
from cpunmt.search.prefix_bias import bias_prefix
from cpunmt.search.records import BATCH, ENDED, HYPOTHESIS, ITEM, SLOT, WORKSPACE
from cpunmt.search.restrictions import forbid
from cpunmt.search.sampling import draw
from cpunmt.search.sentence import MINUS_INFINITY
from cpunmt.search.settings import SEARCH
from cpunmt.simd.intrinsics import at, load_f32, load_i32, load_i64, store_f32, store_i64
from cpunmt.simd.jit import address, count, kernel, real

LEAST_COVERAGE = np.float32(1e-10)  # of a source piece without attention: its logarithm must be a number


@kernel
def forced_piece(batch: address, sentence: count, step: count) -> count:
    """Returns the piece that a translation must have at `step`, or -1."""
    b = at(BATCH, batch, 0)
    search = at(SEARCH, b.search, 0)
    if b.prefix_offsets == 0 or (search.prefix_bias_beta > 0 and step >= search.prompt):
        return -1
    place = load_i64(b.prefix_offsets, sentence) + step
    return load_i32(b.prefixes, place) if place < load_i64(b.prefix_offsets, sentence + 1) else -1


@kernel
def is_end(search: address, piece: count) -> count:
    """Returns whether a piece other than </s> ends a translation."""
    s = at(SEARCH, search, 0)
    for i in range(s.end_count):
        if load_i32(s.end_ids, i) == piece:
            return 1
    return 0


@kernel
def wanted_continuations(batch: address, workspace: address, row: count) -> count:
    """Returns the number of continuations that a hypothesis's sentence may need."""
    b, w = at(BATCH, batch, 0), at(WORKSPACE, workspace, 0)
    search = at(SEARCH, b.search, 0)
    if search.full_beam:
        return search.beam_size + 1  # one of them may end
    if search.apart and at(HYPOTHESIS, w.hypotheses, row).number >= 0:
        return 1
    return search.beam_size - at(SLOT, w.sentences, at(ROW, w.rows, row).slot).ended


@kernel
def drop_improbable(batch: address, workspace: address, row: count):
    """Keeps the first pieces of alternatives that are probable enough, and the best one."""
    b, w = at(BATCH, batch, 0), at(WORKSPACE, workspace, 0)
    h, search = at(HYPOTHESIS, w.hypotheses, row), at(SEARCH, b.search, 0)
    best_logits = w.best_logits + 4 * row * w.beam
    if search.apart and h.number < 0 and search.sampling == 0:
        while h.found > 1 and load_f32(best_logits, h.found - 1) - h.normalizer < search.least_log_prob:
            h.found -= 1


@kernel
def best_of_full_beam(batch: address, workspace: address, row: count, logits: address, columns: count):
    """Finds the best `beam_size` continuations, and further ones until `beam_size` of them do not end.

    Any number of the first may end. Together they are at most twice `beam_size`. Overwrites the logits of ends.
    """
    b, w = at(BATCH, batch, 0), at(WORKSPACE, workspace, 0)
    h, search = at(HYPOTHESIS, w.hypotheses, row), at(SEARCH, b.search, 0)
    best_columns, best_logits = w.best_columns + 8 * row * w.beam, w.best_logits + 4 * row * w.beam
    h.found = top_k(logits, columns, search.beam_size, best_columns, best_logits)
    store_f32(logits, h.eos_column, LOWEST)
    for i in range(search.end_count):
        column = column_of(workspace, row, load_i32(search.end_ids, i))
        if column >= 0:
            store_f32(logits, column, LOWEST)
    known = 0  # they come first in the new results
    for i in range(h.found):
        if load_f32(logits, load_i64(best_columns, i)) > LOWEST:
            known += 1
    others, other_logits = best_columns + 8 * h.found, best_logits + 4 * h.found
    found = top_k(logits, columns, search.beam_size, others, other_logits)
    if not load_f32(other_logits, 0) > LOWEST:
        found = 0
    for i in range(known, found):
        store_i64(others, i - known, load_i64(others, i))
        store_f32(other_logits, i - known, load_f32(other_logits, i))
    if found > known:
        h.found += found - known


@kernel
def choose(batch: address, workspace: address, row: count, logits: address, columns: count):
    """Finds the best continuations of a hypothesis, in the number that its sentence may need."""
    b, w = at(BATCH, batch, 0), at(WORKSPACE, workspace, 0)
    h, r = at(HYPOTHESIS, w.hypotheses, row), at(ROW, w.rows, row)
    s = at(SLOT, w.sentences, r.slot)
    best_columns, best_logits = w.best_columns + 8 * row * w.beam, w.best_logits + 4 * row * w.beam
    h.taken = 0
    forced = forced_piece(batch, s.sentence, r.step)
    if forced >= 0:
        column = column_of(workspace, row, forced)
        h.found = 1
        store_i64(best_columns, 0, column)
        store_f32(best_logits, 0, load_f32(logits, column) if column >= 0 else MINUS_INFINITY)
        return
    search = at(SEARCH, b.search, 0)
    if search.prefix_bias_beta > 0:
        bias_prefix(batch, workspace, row, logits)
    ending = load_f32(logits, h.eos_column)
    if h.unk_column >= 0:
        store_f32(logits, h.unk_column, LOWEST)
    if r.step < search.min_length:
        store_f32(logits, h.eos_column, LOWEST)
    if search.restricted:
        forbid(batch, workspace, row, logits)
    wanted = wanted_continuations(batch, workspace, row)
    h.found = 0
    if search.sampling:
        h.found = draw(batch, workspace, row, logits, columns, wanted)
    if search.full_beam and search.end_count > 0:
        best_of_full_beam(batch, workspace, row, logits, columns)
    elif h.found == 0:
        h.found = top_k(logits, columns, wanted, best_columns, best_logits)
    if search.restricted and not load_f32(best_logits, 0) > LOWEST:  # all are forbidden: it ends
        h.found = 1
        store_i64(best_columns, 0, h.eos_column)
        store_f32(best_logits, 0, ending)
    drop_improbable(batch, workspace, row)


@kernel
def coverage(workspace: address, slot: count, step: count, item: count, prompt: count) -> real:
    """Returns the coverage of an ended hypothesis: sum over j of log(min(1, sum over its pieces of a[j])).

    Leaves out its first `prompt` pieces.

    Wu et al. 2016, https://arxiv.org/abs/1609.08144, equation 14.
    """
    w = at(WORKSPACE, workspace, 0)
    length = at(SLOT, w.sentences, slot).source_length
    for j in range(length):
        store_f32(w.coverage, j, np.float32(0.0))
    for t in range(step, prompt - 1, -1):
        item = np.int64(at(ITEM, w.history, item_place(workspace, slot, t, item)).parent)
        row = attention_address(workspace, slot, t, item)
        for j in range(length):
            store_f32(w.coverage, j, load_f32(w.coverage, j) + load_f32(row, j))
    total = 0.0
    for j in range(length):
        covered = load_f32(w.coverage, j)
        if covered < LEAST_COVERAGE:
            covered = LEAST_COVERAGE
        if covered < 1:
            total -= log(1.0 / np.float64(covered))
    return np.float32(total)


@kernel
def end_hypothesis(batch: address, workspace: address, slot: count, step: count, item: count):
    """Adds an item of `step` to the ended hypotheses, with its score."""
    b, w = at(BATCH, batch, 0), at(WORKSPACE, workspace, 0)
    s, search = at(SLOT, w.sentences, slot), at(SEARCH, b.search, 0)
    ended = at(ENDED, w.ended, slot * w.beam + s.ended)
    ended.step, ended.item = step, item
    ended.log_prob = at(ITEM, w.history, item_place(workspace, slot, step, item)).sum
    penalty = search.word_penalty * np.float32(step + 1)
    ended.score = (ended.log_prob - penalty) / load_f32(b.normalizers, step + 1)
    if search.coverage_penalty != 0:
        covered = coverage(workspace, slot, step, item, search.prompt)
        ended.score = ended.score + search.coverage_penalty * covered
    s.ended += 1


@kernel
def best_row(workspace: address, first: count, rows: count) -> count:
    """Returns the row, of `rows` neighbours, whose next continuation has the largest sum; -1 if none is left."""
    w = at(WORKSPACE, workspace, 0)
    best, most = -1, LOWEST
    for row in range(first, first + rows):
        h = at(HYPOTHESIS, w.hypotheses, row)
        if h.taken < h.found:
            total = h.log_prob + (load_f32(w.best_logits, row * w.beam + h.taken) - h.normalizer)
            if best < 0 or total > most:
                best, most = row, total
    return best


@kernel
def next_row_apart(workspace: address, first: count, rows: count) -> count:
    """Returns the first row, of `rows` neighbours, with a continuation left, or -1. Hypotheses do not compete."""
    w = at(WORKSPACE, workspace, 0)
    for row in range(first, first + rows):
        h = at(HYPOTHESIS, w.hypotheses, row)
        if h.taken < h.found:
            return row
    return -1


@kernel
def add_child(workspace: address, slot: count, row: count, piece: count, item: count, total: real, next_row: count):
    """Makes `next_row` the hypothesis of a row extended by a piece, `item` of this step."""
    w = at(WORKSPACE, workspace, 0)
    s, origin = at(SLOT, w.sentences, slot), at(ROW, w.rows, row)
    child = at(ROW, w.next_rows, next_row)
    child.slot, child.source_length, child.step, child.piece = slot, s.source_length, s.step + 1, piece
    child.item, child.parent_item, child.parent = item, origin.item, row
    child.alignment = attention_address(workspace, slot, s.step + 1, item)
    following = at(HYPOTHESIS, w.next_hypotheses, next_row)
    following.log_prob, following.number = total, at(HYPOTHESIS, w.hypotheses, row).number
    s.live += 1


@kernel
def select(model: address, batch: address, workspace: address, slot: count, first: count, next_row: count) -> count:
    """Takes the best continuations of a sentence, whose hypotheses are the rows from `first`.

    Open ones become the next hypotheses from `next_row`, the best first; returns the row after the last of them. No
    hypothesis goes on once the sentence is settled.
    """
    m, b, w = at(MODEL, model, 0), at(BATCH, batch, 0), at(WORKSPACE, workspace, 0)
    s, search = at(SLOT, w.sentences, slot), at(SEARCH, b.search, 0)
    rows, step, wanted = s.live, s.step, search.beam_size - s.ended
    if search.full_beam:
        wanted = w.beam
    last = step + 1 >= load_i64(b.limits, s.sentence)
    forced = forced_piece(batch, s.sentence, step)
    s.live = 0
    item, rank = 0, 0
    while item < wanted:
        row = next_row_apart(workspace, first, rows) if search.apart else best_row(workspace, first, rows)
        if row < 0:
            break
        parent, origin = at(HYPOTHESIS, w.hypotheses, row), at(ROW, w.rows, row)
        column = load_i64(w.best_columns, row * w.beam + parent.taken)
        log_prob = load_f32(w.best_logits, row * w.beam + parent.taken) - parent.normalizer
        parent.taken += 1
        piece = forced if forced >= 0 else column_piece(workspace, row, column)
        ends = piece == m.eos_id or last or (forced < 0 and is_end(b.search, piece))
        rank += 1
        if search.full_beam and ends and rank > search.beam_size:
            continue
        entry = at(ITEM, w.history, item_place(workspace, slot, step, item))
        total = parent.log_prob
        if step < search.prompt:
            log_prob = np.float32(0.0)
        elif column < 0:
            s.outside = 1  # the sum leaves it out, or all sums would be minus infinity
        else:
            total = total + log_prob
        entry.piece, entry.parent = np.int32(piece), np.int32(origin.item)
        entry.log_prob, entry.sum = log_prob, total
        if ends:
            end_hypothesis(batch, workspace, slot, step, item)
        else:
            add_child(workspace, slot, row, piece, item, total, next_row)
            if search.apart and forced < 0 and parent.number < 0:
                at(HYPOTHESIS, w.next_hypotheses, next_row).number = parent.taken - 1
            next_row += 1
        item += 1
        if search.full_beam and s.live == search.beam_size:
            break
    s.step = step + 1
    if search.full_beam and s.ended >= search.most_ended:
        next_row -= s.live
        s.live = 0
    if s.live > 0 and is_settled(batch, workspace, slot, next_row - s.live):
        next_row -= s.live
        s.live = 0
    return next_row
