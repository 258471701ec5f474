"""Diverse beams: several beams of a sentence; each avoids the pieces of the beams before it at the same step.

A beam of `beam_size` has `num_beam_groups` groups of equal size (Vijayakumar et al. 2016,
https://arxiv.org/abs/1610.02424, with the Hamming diversity). At each step the groups choose one after the other, each
among its own hypotheses as a beam does; the first group is an ordinary beam search. A hypothesis is ranked by

    log_prob - diversity_penalty * sum over its pieces of c

where c counts the hypotheses of earlier groups that chose that piece at that step; `</s>` and other ends do not count.
As in transformers the penalties of earlier steps stay. Penalties affect only the choice: log-probabilities and scores
are the model's, and rank the returned translations. Translations found by several groups are returned once.

After a prefix all groups begin with its single hypothesis. A group ends like a beam of its size: it shrinks, or with
patience it is over once its share of `most_ended` has ended. Each group keeps this number of ended hypotheses, the best
by this rank, normalized like a score.
"""

import numpy as np

from cpunmt.architectures.records import MODEL, ROW
from cpunmt.kernels.softmax import LOWEST
from cpunmt.search.history import item_place
from cpunmt.search.output.candidates import column_piece
from cpunmt.search.records import BATCH, ENDED, HYPOTHESIS, ITEM, SLOT, WORKSPACE
from cpunmt.search.settings import SEARCH
from cpunmt.search.step import add_child, end_hypothesis, is_end
from cpunmt.simd.intrinsics import at, load_f32, load_i32, load_i64, store_f32, store_i32
from cpunmt.simd.jit import address, count, kernel, real

WORST = np.float32(-2.9e38)  # lowest rank of a continuation, instead of NaN; above LOWEST, which marks taken ones


@kernel
def ended_of(workspace: address, slot: count, group: count) -> count:
    """Returns the number of ended hypotheses of a group."""
    w, found = at(WORKSPACE, workspace, 0), 0
    for i in range(at(SLOT, w.sentences, slot).ended):
        if at(ENDED, w.ended, slot * w.beam + i).group == group:
            found += 1
    return found


@kernel
def penalty_of(batch: address, workspace: address, row: count, piece: count, others: count) -> real:
    """Returns the penalties of a hypothesis extended by `piece`; earlier groups go on with int32 `w.others`
    [others]."""
    b, w = at(BATCH, batch, 0), at(WORKSPACE, workspace, 0)
    h, same = at(HYPOTHESIS, w.hypotheses, row), 0
    for i in range(others):
        if load_i32(w.others, i) == piece:
            same += 1
    added = at(SEARCH, b.search, 0).diversity_penalty * np.float32(same)
    return h.penalty + added if h.number >= 0 else added


@kernel
def weigh_group(batch: address, workspace: address, slot: count, first: count, rows: count, others: count):
    """Writes the rank of each continuation of a group's rows to `w.totals`."""
    w = at(WORKSPACE, workspace, 0)
    for i in range(rows):
        row = first + i
        h = at(HYPOTHESIS, w.hypotheses, row)
        for place in range(h.found):
            piece = column_piece(workspace, row, load_i64(w.best_columns, row * w.beam + place))
            total = h.log_prob + (load_f32(w.best_logits, row * w.beam + place) - h.normalizer)
            total = total - penalty_of(batch, workspace, row, piece, others)
            store_f32(w.totals, i * w.beam + place, total if total > WORST else WORST)


@kernel
def take_best(workspace: address, first: count, rows: count) -> count:
    """Takes the largest of `w.totals`; returns its i * w.beam + place, or -1 if none is left.

    Of equal values it takes the first row's, and there the lowest column's.
    """
    w, best, most = at(WORKSPACE, workspace, 0), -1, LOWEST
    for i in range(rows):
        columns = w.best_columns + 8 * (first + i) * w.beam
        for place in range(at(HYPOTHESIS, w.hypotheses, first + i).found):
            total, found = load_f32(w.totals, i * w.beam + place), i * w.beam + place
            if total > most:
                best, most = found, total
            same = best >= 0 and total == most and best // w.beam == i
            if same and load_i64(columns, place) < load_i64(columns, best % w.beam):
                best = found
    if best >= 0:
        store_f32(w.totals, best, LOWEST)
    return best


@kernel
def is_same(workspace: address, slot: count, one: count, other: count) -> count:
    """Returns whether two ended hypotheses have the same pieces."""
    w = at(WORKSPACE, workspace, 0)
    a, b = at(ENDED, w.ended, slot * w.beam + one), at(ENDED, w.ended, slot * w.beam + other)
    if a.step != b.step:
        return 0
    item, other_item = a.item, b.item
    for step in range(a.step, -1, -1):
        x = at(ITEM, w.history, item_place(workspace, slot, step, item))
        y = at(ITEM, w.history, item_place(workspace, slot, step, other_item))
        if x.piece != y.piece:
            return 0
        item, other_item = np.int64(x.parent), np.int64(y.parent)
    return 1


@kernel
def is_among_best(batch: address, workspace: address, slot: count, number: count, most: count) -> count:
    """Returns whether an ended hypothesis is among the `most` best of its group, by its score less the penalties."""
    b, w = at(BATCH, batch, 0), at(WORKSPACE, workspace, 0)
    own, better = at(ENDED, w.ended, slot * w.beam + number), 0
    score = own.score - own.penalty / load_f32(b.normalizers, own.step + 1)
    for i in range(at(SLOT, w.sentences, slot).ended):
        other = at(ENDED, w.ended, slot * w.beam + i)
        if i != number and other.group == own.group:
            others = other.score - other.penalty / load_f32(b.normalizers, other.step + 1)
            if others > score or (i < number and not score > others):
                better += 1
    return 1 if better < most else 0


@kernel
def gather_groups(batch: address, workspace: address, slot: count, most: count):
    """Keeps the `most` best ended hypotheses of each group, and only one of equal ones in several groups."""
    w = at(WORKSPACE, workspace, 0)
    s, kept = at(SLOT, w.sentences, slot), 0
    for i in range(s.ended):
        store_i32(w.others, i, is_among_best(batch, workspace, slot, i, most))
    for i in range(s.ended):
        new = load_i32(w.others, i)
        for j in range(kept):
            if new and is_same(workspace, slot, i, j):
                new = 0
        if new:
            source, target = at(ENDED, w.ended, slot * w.beam + i), at(ENDED, w.ended, slot * w.beam + kept)
            target.step, target.item = source.step, source.item
            target.score, target.log_prob = source.score, source.log_prob
            kept += 1
    s.ended = kept


@kernel
def select_groups(
    model: address, batch: address, workspace: address, slot: count, first: count, next_row: count
) -> count:
    """Does `step.select` with groups for a sentence whose step is not forced."""
    m, b, w = at(MODEL, model, 0), at(BATCH, batch, 0), at(WORKSPACE, workspace, 0)
    s, search = at(SLOT, w.sentences, slot), at(SEARCH, b.search, 0)
    groups, rows, step = search.num_beam_groups, s.live, s.step
    size, most = search.beam_size // groups, search.most_ended // groups
    last = step + 1 >= load_i64(b.limits, s.sentence)
    together = at(HYPOTHESIS, w.hypotheses, first).number < 0
    s.live = 0
    item, others, begin = 0, 0, first
    for group in range(groups):
        own = rows
        if together == 0:
            own = 0
            while begin + own < first + rows and at(HYPOTHESIS, w.hypotheses, begin + own).number == group:
                own += 1
        wanted, rank, live, first_child = size - ended_of(workspace, slot, group), 0, s.live, next_row
        weigh_group(batch, workspace, slot, begin, own, others)
        chosen = 0
        while (search.full_beam and s.live - live < size) or (search.full_beam == 0 and rank < wanted):
            best = take_best(workspace, begin, own)
            if best < 0:
                break
            row, place = begin + best // w.beam, best % w.beam
            parent, origin = at(HYPOTHESIS, w.hypotheses, row), at(ROW, w.rows, row)
            column = load_i64(w.best_columns, row * w.beam + place)
            piece = column_piece(workspace, row, column)
            ends = piece == m.eos_id or is_end(b.search, piece)
            rank += 1
            if search.full_beam and (ends or last) and rank > size:
                if last:
                    break
                continue
            log_prob = load_f32(w.best_logits, row * w.beam + place) - parent.normalizer
            entry, total = at(ITEM, w.history, item_place(workspace, slot, step, item)), parent.log_prob + log_prob
            entry.piece, entry.parent = np.int32(piece), np.int32(origin.item)
            entry.log_prob, entry.sum = log_prob, total
            penalty = penalty_of(batch, workspace, row, piece, others)
            if not ends:
                store_i32(w.others, others + chosen, piece)
                chosen += 1
            if ends or last:
                end_hypothesis(batch, workspace, slot, step, item)
                ended = at(ENDED, w.ended, slot * w.beam + s.ended - 1)
                ended.group, ended.penalty = group, penalty
            else:
                add_child(workspace, slot, row, piece, item, total, next_row)
                following = at(HYPOTHESIS, w.next_hypotheses, next_row)
                following.number, following.penalty = group, penalty
                next_row += 1
            item += 1
        others += chosen
        if search.full_beam and ended_of(workspace, slot, group) >= most:
            next_row, s.live = first_child, live
        if together == 0:
            begin += own
    s.step = step + 1
    if s.live == 0:
        gather_groups(batch, workspace, slot, most if search.full_beam else size)
    return next_row
