"""Beam search: one compiled loop translates a batch. Greedy search is the beam of one hypothesis.

Sentences are decoded in parallel, each with up to `beam_size` hypotheses. Each hypothesis is a row of the decoder's
products. A sentence that ends leaves at once (removal: Hoang et al. 2018). When at most `refill` sentences of the BATCH
are left, the next ones are encoded and take the free places (top-up: algorithm 6 of paper A, docs/papers.md). A
sentence never sees another, so its translation does not depend on its batch.

Hypotheses are never copied: a row reads its state where its parent left it, and the pieces of a hypothesis are a chain
of items in the history of its sentence.

The workspace holds the whole state between two steps, so the search can stop there and be called again. This is needed
because Python handles an interrupt only outside compiled code.
"""

from cpunmt.search.bounded_output import choose_bounded, score_ended
from cpunmt.search.diverse_beams import select_groups
from cpunmt.search.ensemble import encode_sentences, row_logits, step_rows
from cpunmt.search.fused_output import choose_fused
from cpunmt.search.output.candidates import name_candidates
from cpunmt.search.output.layer import keep_logits, row_columns, score_rows, share
from cpunmt.search.records import BATCH, MEMBER, SLOT, WORKSPACE
from cpunmt.search.sentence import end_sentence, start_sentence
from cpunmt.search.settings import SEARCH
from cpunmt.search.step import choose, forced_piece, select
from cpunmt.simd.intrinsics import at, load_i64, store_i64
from cpunmt.simd.jit import address, count, kernel


@kernel
def translate(batch: address, workspace: address, begin: count, budget: count) -> count:
    """Translates a BATCH with the models and in the memory of a WORKSPACE, or as much of it as the budget allows.

    begin     1: from the beginning; 0: from the end of the last call
    budget    rows to encode or decode before it returns, at least the rows of one step or of some sentences

    Returns 1 if work is left, else 0.
    """
    b, w = at(BATCH, batch, 0), at(WORKSPACE, workspace, 0)
    model = at(MEMBER, w.members, 0).model  # all have its pieces
    fused = w.models == 1 and at(SEARCH, b.search, 0).whole_logits == 0
    grouped, normalized = at(SEARCH, b.search, 0).num_beam_groups > 1, at(SEARCH, b.search, 0).normalized
    if begin:
        w.waiting, w.active_count, w.row_count, w.filling, w.sharing = 0, 0, 0, 0, 0
        w.free_count = w.slots
        for slot in range(w.slots):
            store_i64(w.free_slots, slot, w.slots - 1 - slot)
    waiting, active, rows, filling, spent = w.waiting, w.active_count, w.row_count, w.filling, 0
    while (waiting < b.sentences or active > 0) and spent < budget:
        if filling or active <= b.refill:
            while waiting < b.sentences and active < b.slots and spent < budget:
                first, tokens = waiting, 0
                while waiting < b.sentences and active + waiting - first < b.slots:
                    length = load_i64(b.offsets, waiting + 1) - load_i64(b.offsets, waiting)
                    if tokens > 0 and tokens + length > w.tokens:
                        break
                    tokens += length
                    waiting += 1
                for i in range(waiting - first):
                    w.free_count -= 1
                    store_i64(w.begun, i, load_i64(w.free_slots, w.free_count))
                encode_sentences(batch, workspace, first, waiting - first)
                spent += tokens
                for sentence in range(first, waiting):
                    slot = load_i64(w.begun, sentence - first)
                    start_sentence(model, batch, workspace, sentence, slot, rows)
                    store_i64(w.active, active, slot)
                    active += 1
                    rows += 1
            filling = 0
            if waiting < b.sentences and active < b.slots:
                filling = 1
                break
        if b.full_output == 0 and w.together and (w.sharing == 0 or 2 * active <= w.sharing):
            share(model, workspace, active)
        step_rows(workspace, rows)
        spent += rows
        name_candidates(batch, workspace, rows)
        row = 0
        while row < rows:
            if b.halves:
                row += choose_bounded(batch, workspace, rows)
                continue
            if fused:
                row += choose_fused(batch, workspace, row, rows)
                continue
            scored = score_rows(batch, workspace, row, rows)
            for i in range(scored):
                logits = row_logits(batch, workspace, row + i, i)
                if b.vocab_logits:
                    keep_logits(batch, workspace, row + i, logits)
                choose(batch, workspace, row + i, logits, row_columns(batch, workspace, row + i))
            row += scored
        row, next_row, kept = 0, 0, 0
        for i in range(active):
            slot = load_i64(w.active, i)
            s = at(SLOT, w.sentences, slot)
            live = s.live
            if grouped and forced_piece(batch, s.sentence, s.step) < 0:
                next_row = select_groups(model, batch, workspace, slot, row, next_row)
            else:
                next_row = select(model, batch, workspace, slot, row, next_row)
            row += live
            if s.live > 0:
                store_i64(w.active, kept, slot)
                kept += 1
            else:
                if b.halves and normalized:
                    score_ended(batch, workspace, slot)
                end_sentence(batch, workspace, slot)
        active, rows = kept, next_row
        w.rows, w.next_rows = w.next_rows, w.rows
        w.hypotheses, w.next_hypotheses = w.next_hypotheses, w.hypotheses
    w.waiting, w.active_count, w.row_count, w.filling = waiting, active, rows, filling
    if waiting < b.sentences or active > 0:
        return 1
    return 0
