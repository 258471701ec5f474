"""The end of a sentence before its search is complete, with the pieces of its hypotheses so far."""

from cpunmt.architectures.records import ROW
from cpunmt.kernels.copying import copy_floats
from cpunmt.search.records import HYPOTHESIS, SLOT, WORKSPACE
from cpunmt.search.sentence import end_sentence
from cpunmt.search.step import end_hypothesis
from cpunmt.simd.intrinsics import address_of, at, load_i64, store_i64
from cpunmt.simd.jit import address, count, kernel

ROW_FLOATS, HYPOTHESIS_FLOATS = ROW.itemsize // 4, HYPOTHESIS.itemsize // 4


@kernel
def stop_sentence(batch: address, workspace: address, sentence: count):
    """Ends a sentence between two calls of `beam.translate`; does nothing if no slot decodes it.

    Its hypotheses end as at the length limit. The rows behind its own move up.
    """
    w = at(WORKSPACE, workspace, 0)
    row, next_row, kept = 0, 0, 0
    for i in range(w.active_count):
        slot = load_i64(w.active, i)
        s = at(SLOT, w.sentences, slot)
        live = s.live
        if s.sentence == sentence and s.step > 0:
            for j in range(row, row + live):
                end_hypothesis(batch, workspace, slot, s.step - 1, at(ROW, w.rows, j).item)
            s.live = 0
            end_sentence(batch, workspace, slot)
        else:
            if next_row < row:
                for j in range(live):
                    to, source = next_row + j, row + j
                    copy_floats(address_of(at(ROW, w.rows, source)), ROW_FLOATS, address_of(at(ROW, w.rows, to)))
                    known, target = at(HYPOTHESIS, w.hypotheses, source), at(HYPOTHESIS, w.hypotheses, to)
                    copy_floats(address_of(known), HYPOTHESIS_FLOATS, address_of(target))
            store_i64(w.active, kept, slot)
            kept += 1
            next_row += live
        row += live
    w.active_count, w.row_count = kept, next_row
