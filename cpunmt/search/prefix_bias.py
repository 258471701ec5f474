"""A prefix with which a translation should begin, but need not.

As long as the pieces of a hypothesis equal the prefix, the probability p of each piece becomes (1 - b) p, and that of
the prefix's next piece (1 - b) p + b. A piece that is not a candidate is not favoured.
"""

import numpy as np

from cpunmt.architectures.records import ROW
from cpunmt.kernels.activations import exp, log
from cpunmt.search.output.candidates import column_of
from cpunmt.search.records import BATCH, HYPOTHESIS, SLOT, WORKSPACE
from cpunmt.search.restrictions import has_said, pieces_said
from cpunmt.search.settings import SEARCH
from cpunmt.simd.intrinsics import at, load_f32, load_i32, load_i64, store_f32
from cpunmt.simd.jit import address, count, kernel
from cpunmt.simd.vector import broadcast, first_lane


@kernel
def bias_prefix(batch: address, workspace: address, row: count, logits: address):
    """Changes a hypothesis's logits and their `normalizer` so that their difference is the biased log-probability.

    The normalizer accounts for the loss that all other pieces share.
    """
    b, w = at(BATCH, batch, 0), at(WORKSPACE, workspace, 0)
    h, r = at(HYPOTHESIS, w.hypotheses, row), at(ROW, w.rows, row)
    if b.prefix_offsets == 0:
        return
    sentence = at(SLOT, w.sentences, r.slot).sentence
    first, end = load_i64(b.prefix_offsets, sentence), load_i64(b.prefix_offsets, sentence + 1)
    if r.step >= end - first:
        return
    pieces_said(workspace, row)
    if has_said(workspace, 0, b.prefixes + 4 * first, r.step) == 0:
        return
    column = column_of(workspace, row, load_i32(b.prefixes, first + r.step))
    if column < 0:
        return
    bias = np.float64(at(SEARCH, b.search, 0).prefix_bias_beta)
    share = np.float64(first_lane(exp(broadcast(load_f32(logits, column) - h.normalizer))))
    favoured = (1.0 - bias) * share + bias
    if favoured > 1.0:
        favoured = 1.0  # rounded
    h.normalizer = h.normalizer + np.float32(log(1.0 / (1.0 - bias)))
    store_f32(logits, column, h.normalizer - np.float32(log(1.0 / favoured)))
