"""Early stopping of settled sentences, whose search cannot find another translation that would be returned.

An open hypothesis has L, the sum of its s pieces' log-probabilities. It ends with s < n <= limit pieces, and
its score is then, with word penalty w, length penalty a and coverage penalty c,

    (L' - w n) / n^a + c * coverage  <=  (L - w n) / n^a  <=  bound

    top   = L - w (s + 1) if w >= 0, else L - w limit
    bound = top / limit^a if top <= 0, else top / (s + 1)^a

because no piece's log-probability is above 0 (so L' <= L), coverage is a sum of logarithms of at most 1, and c >= 0.
The search is over once `num_hypotheses` ended hypotheses have a score of at least the bound of the best open one. The
returned translations do not change by a bit:

- Each inequality holds for the computed float32 numbers, since sum, difference, product and quotient are rounded
  monotonically; no logit is above the log-sum-exp of its row, which is not below the largest one.
- `sentence.rank_ended` moves a hypothesis before an earlier one only if its score is larger. From rank
  `num_hypotheses` on, at least one ended hypothesis has a score that is not less than the bound. Later ones stay behind
  it, so the ranks before it do not change. A NaN score never moves forward.

The savings depend on the penalties: without normalization (a = 0) the bound is L itself; with a = 1 it is L / limit,
as if all further pieces were certain and filled the limit. (Early stopping: Devlin 2017, section 3.)
"""

import numpy as np

from cpunmt.search.records import BATCH, ENDED, HYPOTHESIS, SLOT, WORKSPACE
from cpunmt.search.settings import SEARCH
from cpunmt.simd.intrinsics import at, load_f32, load_i64
from cpunmt.simd.jit import address, count, kernel


@kernel
def is_settled(batch: address, workspace: address, slot: count, row: count) -> count:
    """Returns 1 if no open hypothesis of a slot can change its best. `row`, of the next rows, is the best open one.

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
