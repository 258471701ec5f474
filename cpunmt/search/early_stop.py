"""Stops early when a sentence is settled: its search cannot find another translation that would be returned.

A hypothesis that goes on has L, the sum of its s pieces' log-probabilities. It ends with s < n <= limit pieces, and
its score is then, with word penalty w, length penalty a and coverage penalty c,

    (L' - w n) / n^a + c * coverage  <=  (L - w n) / n^a  <=  bound

    top   = L - w (s + 1) if w >= 0, else L - w limit
    bound = top / limit^a if top <= 0, else top / (s + 1)^a

for no piece's log-probability is above 0 (so L' <= L), coverage is a sum of logarithms of at most 1, and c >= 0. The
search is over once `num_hypotheses` of the hypotheses that have ended have a score of at least the bound of the best
one that goes on. It changes no bit of what is returned:

- Each inequality holds of the float32 numbers as they are computed, since sum, difference, product and quotient are
  rounded monotonically; no logit is above the log-sum-exp of its row, which is not below the largest one.
- `sentence.rank_ended` moves a hypothesis before one that has ended earlier only if its score is larger. Among the
  ended from rank `num_hypotheses` on stands at least one whose score is not less than the bound: later ones
  stay behind that one, and the ranks before it are as they are. A NaN score never moves forward.

The savings depend on the penalties: without normalization (a = 0) the bound is L itself; with a = 1 it is L / limit,
as if all that follows were certain and as long as is allowed. (Early stopping: Devlin 2017, section 3.)
"""

import numpy as np

from cpunmt.search.records import BATCH, ENDED, HYPOTHESIS, SEARCH, SLOT, WORKSPACE
from cpunmt.simd.intrinsics import at, load_f32, load_i64
from cpunmt.simd.jit import address, count, kernel


@kernel
def is_settled(batch: address, workspace: address, slot: count, row: count) -> count:
    """1 if what goes on in a slot cannot change its best hypotheses. `row`, of the next rows, has the best that does.

    The slot's `step` is that of the next rows.
    """
    b, w = at(BATCH, batch, 0), at(WORKSPACE, workspace, 0)
    s, search = at(SLOT, w.sentences, slot), at(SEARCH, b.search, 0)
    if s.ended < search.num_hypotheses or search.to_the_end or search.coverage_penalty < 0:
        return 0
    shortest, longest = s.step + 1, load_i64(b.limits, s.sentence)
    length = shortest if search.word_penalty >= 0 else longest
    top = at(HYPOTHESIS, w.next_hypotheses, row).log_prob - search.word_penalty * np.float32(length)
    bound = top / load_f32(b.normalizers, longest if top <= 0 else shortest)
    better = 0
    for i in range(s.ended):
        if at(ENDED, w.ended, slot * w.beam + i).score >= bound:
            better += 1
    return 1 if better >= search.num_hypotheses else 0
