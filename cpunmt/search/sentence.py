"""A sentence in the decoder's slots: its start, and its end, which writes the translations."""

import numpy as np

from cpunmt.architectures.records import MODEL, ROW
from cpunmt.kernels.candidates import copy_candidates, find_candidates
from cpunmt.kernels.copying import copy_floats
from cpunmt.search.history import attention_address, item_place
from cpunmt.search.output.candidates import find_column
from cpunmt.search.output.layer import gather_slot
from cpunmt.search.records import BATCH, CLUSTERS, ENDED, HYPOTHESIS, ITEM, SENTENCES, SLOT, WORKSPACE
from cpunmt.search.sampling import sentence_key
from cpunmt.search.settings import SEARCH
from cpunmt.simd.intrinsics import address_of, at, load_i64, store_f32, store_i32, store_i64
from cpunmt.simd.jit import address, count, kernel

MINUS_INFINITY = np.float32(-np.inf)


@kernel
def start_sentence(model: address, batch: address, workspace: address, sentence: count, slot: count, row: count):
    """Begins the first hypothesis of a sentence, which has been encoded into `slot`, in `row`."""
    m, b, w = at(MODEL, model, 0), at(BATCH, batch, 0), at(WORKSPACE, workspace, 0)
    first = load_i64(b.offsets, sentence)
    s = at(SLOT, w.sentences, slot)
    s.sentence = sentence
    s.source_length = load_i64(b.offsets, sentence + 1) - first
    s.step, s.live, s.ended, s.outside, s.paused, s.pause = 0, 1, 0, 0, 0, 1
    s.candidates, s.unk_column = m.vocab_size, m.unk_id
    if at(SEARCH, b.search, 0).sampling:
        s.key = sentence_key(b.ids + 4 * first, s.source_length)
    r = at(ROW, w.rows, row)
    r.slot, r.source_length, r.step, r.piece, r.item, r.parent_item = slot, s.source_length, 0, -1, 0, 0
    r.alignment = attention_address(workspace, slot, 0, 0)
    h = at(HYPOTHESIS, w.hypotheses, row)
    h.log_prob, h.number = np.float32(0.0), -1
    if b.clusters != 0:
        s.clusters = address_of(at(CLUSTERS, b.clusters, load_i64(b.cluster_sets, sentence)))
    if b.listed:
        pieces = w.candidate_ids + 64 * slot * w.candidate_panels
        shortlist, source = address_of(b.shortlist), b.ids + 4 * first
        if b.listed == SENTENCES:
            found = copy_candidates(shortlist, sentence, pieces)
        else:
            found = find_candidates(shortlist, source, s.source_length, m.vocab_size, w.marks, pieces)
        if b.clusters == 0:
            gather_slot(workspace, slot, found)
        s.candidates, s.unk_column = found, find_column(pieces, found, m.unk_id)


@kernel
def rank_ended(first: address, ended: count):
    """Sorts ENDED records by score, the best first; of equal scores, the one that ended first."""
    for i in range(1, ended):
        for j in range(i, 0, -1):
            upper, lower = at(ENDED, first, j - 1), at(ENDED, first, j)
            if not lower.score > upper.score:
                break
            step, item, score, log_prob = upper.step, upper.item, upper.score, upper.log_prob
            upper.step, upper.item, upper.score, upper.log_prob = lower.step, lower.item, lower.score, lower.log_prob
            lower.step, lower.item, lower.score, lower.log_prob = step, item, score, log_prob


@kernel
def end_sentence(batch: address, workspace: address, slot: count):
    """Writes the best hypotheses of a slot, and frees it."""
    b, w = at(BATCH, batch, 0), at(WORKSPACE, workspace, 0)
    s = at(SLOT, w.sentences, slot)
    sentence, wanted = s.sentence, at(SEARCH, b.search, 0).num_hypotheses
    ended = address_of(at(ENDED, w.ended, slot * w.beam))
    rank_ended(ended, s.ended)
    limit = load_i64(b.limits, sentence)
    for rank in range(wanted):
        place = sentence * wanted + rank
        if rank >= s.ended:
            store_i64(b.lengths, place, 0)
            continue
        best = at(ENDED, ended, rank)
        store_i64(b.lengths, place, best.step + 1)
        store_f32(b.log_probs, place, MINUS_INFINITY if s.outside else best.log_prob)
        store_f32(b.scores, place, MINUS_INFINITY if s.outside else best.score)
        written = load_i64(b.output_offsets, sentence) + rank * limit
        item = best.item
        for step in range(best.step, -1, -1):
            entry = at(ITEM, w.history, item_place(workspace, slot, step, item))
            store_i32(b.output, written + step, entry.piece)
            if b.token_log_probs:
                store_f32(b.token_log_probs, written + step, entry.log_prob)
            if b.attention:
                source = attention_address(workspace, slot, step, np.int64(entry.parent))
                rows = load_i64(b.attention_offsets, sentence) + (rank * limit + step) * s.source_length
                copy_floats(source, s.source_length, b.attention + 4 * rows)
            item = np.int64(entry.parent)
    store_i64(w.free_slots, w.free_count, slot)
    w.free_count += 1
