"""The models of a search, one or several, which run side by side, and the combination of their outputs.

Several models are an ensemble. After the earlier pieces, model k, of weight v_k, assigns a piece y the logit s_k(y),
and has the log-sum-exp z_k over its candidates. The ensemble's are the weighted sums, so that

    log p(y) = s(y) - z = sum over k of v_k log p_k(y),    s = sum of v_k s_k,    z = sum of v_k z_k

The weights are not negative and add up to 1: log p is the weighted mean of the models' log-probabilities. As in Marian
it is not normalized again, so probabilities add up to at most 1. The rest of a search is as with one model: the models
have the same pieces, and choose from the same candidates. Alignments are the weighted means of the models'.

Sums are float32, in the order of the models. A single model is not summed.
"""

import numpy as np

from cpunmt.architectures.calls import encode, start, step
from cpunmt.architectures.records import ROW
from cpunmt.kernels.softmax import LOWEST, log_sum_exp
from cpunmt.kernels.weighted_sums import add_weighted
from cpunmt.search.history import attention_address
from cpunmt.search.output.layer import own_logits, row_columns
from cpunmt.search.records import BATCH, HYPOTHESIS, MEMBER, SLOT, WORKSPACE
from cpunmt.search.restrictions import penalize
from cpunmt.search.settings import SEARCH
from cpunmt.simd.intrinsics import at, store_f32
from cpunmt.simd.jit import address, count, kernel


@kernel
def encode_sentences(batch: address, workspace: address, first: count, n: count):
    """Encodes `n` sentences of a batch, from number `first` on, into their slots."""
    b, w = at(BATCH, batch, 0), at(WORKSPACE, workspace, 0)
    for number in range(w.models):
        member = at(MEMBER, w.members, number)
        encode(member.model, member.memory, b.ids, b.offsets + 8 * first, w.begun, n)


@kernel
def step_rows(workspace: address, n: count):
    """Computes one step of the workspace's rows [n]."""
    w = at(WORKSPACE, workspace, 0)
    for number in range(w.models):
        member = at(MEMBER, w.members, number)
        for i in range(n):
            r = at(ROW, w.rows, i)
            if r.step == 0:
                r.parent = start(member.model, member.memory, r.slot)
            if number > 0 and r.alignment:
                r.alignment = w.own_attention + 4 * w.source_stride * i
        step(member.model, member.memory, w.rows, n)
        if w.models > 1 and w.attention:
            for i in range(n):
                r = at(ROW, w.rows, i)
                mean = attention_address(workspace, r.slot, r.step, r.item)
                add_weighted(r.alignment, (r.source_length + 15) // 16 * 16, member.weight, number, mean)


@kernel
def row_logits(batch: address, workspace: address, row: count, number: count) -> address:
    """Returns the address of the logits of `row`, combined from all models; `number` as of `own_logits`.

    They are float32 [row_columns], and may be overwritten. The `normalizer` of the hypothesis is subtracted from them.
    """
    w = at(WORKSPACE, workspace, 0)
    columns, logits = row_columns(batch, workspace, row), own_logits(batch, workspace, 0, row, number)
    h = at(HYPOTHESIS, w.hypotheses, row)
    penalty = at(SEARCH, at(BATCH, batch, 0).search, 0).repetition_penalty
    if w.models == 1:
        if penalty != 1:
            penalize(batch, workspace, row, logits, penalty)
        h.normalizer = log_sum_exp(logits, columns)
        return logits
    h.normalizer = np.float32(0.0)
    for k in range(w.models):
        weight, own = at(MEMBER, w.members, k).weight, logits
        if k > 0:
            own = own_logits(batch, workspace, k, row, number)
        if penalty != 1:
            penalize(batch, workspace, row, own, penalty)
        h.normalizer = h.normalizer + weight * log_sum_exp(own, columns)
        add_weighted(own, columns, weight, k, logits)
    for column in range(at(SLOT, w.sentences, at(ROW, w.rows, row).slot).candidates, columns):
        store_f32(logits, column, LOWEST)
    return logits
