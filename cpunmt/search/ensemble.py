"""The models of a search, one or several: encoded and stepped side by side, and what they say made one.

Several are an ensemble. Model k, of weight v_k, gives a piece y after what has been said the logit s_k(y), and has the
log-sum-exp z_k over its candidates. The ensemble's are the weighted sums, so that

    log p(y) = s(y) - z = sum over k of v_k log p_k(y),    s = sum of v_k s_k,    z = sum of v_k z_k

The weights are not negative and add up to 1: log p is the weighted mean of the models' log-probabilities. As in Marian
it is not normalized again, so that probabilities add up to at most 1. All else of a search is as with one model: the
models have the same pieces, and choose from the same candidates. Alignments are the weighted means of the models'.

Sums are float32, in the order of the models. One model is summed with nothing.
"""

import numpy as np

from cpunmt.architectures.calls import encode, start, step
from cpunmt.architectures.records import MODEL, ROW
from cpunmt.kernels.candidates import gather_output
from cpunmt.kernels.matmul.int8_matmul import AFFINE
from cpunmt.kernels.records import LINEAR
from cpunmt.kernels.softmax import LOWEST, log_sum_exp
from cpunmt.kernels.weighted_sums import add_weighted
from cpunmt.layers.linear import linear, row_bytes
from cpunmt.search.history import attention_address
from cpunmt.search.records import BATCH, MEMBER, WORKSPACE
from cpunmt.simd.intrinsics import address_of, at, store_f32
from cpunmt.simd.jit import address, count, kernel, real

LINEAR_BYTES = LINEAR.itemsize


@kernel
def encode_sentences(batch: address, workspace: address, first: count, n: count):
    """Encode `n` sentences of a batch, from number `first` on, into the slots that they have been given."""
    b, w = at(BATCH, batch, 0), at(WORKSPACE, workspace, 0)
    for number in range(w.models):
        member = at(MEMBER, w.members, number)
        encode(member.model, member.memory, b.ids, b.offsets + 8 * first, w.begun, n)


@kernel
def gather_candidates(workspace: address, slot: count, candidates: count):
    """Cut the output layer of each model down to a slot's candidates."""
    w = at(WORKSPACE, workspace, 0)
    pieces = w.candidate_ids + 64 * slot * w.candidate_panels
    for number in range(w.models):
        member = at(MEMBER, w.members, number)
        m, output = at(MODEL, member.model, 0), at(LINEAR, member.outputs, slot)
        output.panels = (candidates + 15) // 16
        gather_output(address_of(m.output), pieces, candidates, m.model_dim, w.pointers, address_of(output))


@kernel
def step_rows(workspace: address, n: count):
    """One step of the workspace's rows [n]."""
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
def score_rows(batch: address, workspace: address, first: count, rows: count) -> count:
    """Logits of rows first ... first + rows - 1 by each model; returns the columns of float32 [models, rows, columns].

    Without a shortlist all rows share one output layer; with one, those of one sentence do.
    """
    b, w = at(BATCH, batch, 0), at(WORKSPACE, workspace, 0)
    columns = 0
    for number in range(w.models):
        member = at(MEMBER, w.members, number)
        depth, output = at(MODEL, member.model, 0).model_dim, b.full_output + LINEAR_BYTES * number
        if b.full_output == 0:
            output = member.outputs + LINEAR_BYTES * at(ROW, w.rows, first).slot
        columns = 16 * at(LINEAR, output, 0).panels
        x = member.hidden + 4 * first * depth
        quantized = member.quantized + first * row_bytes(at(LINEAR, output, 0).scheme, depth)
        logits = w.logits + 4 * number * rows * columns
        linear(output, x, quantized, member.row_scales + 8 * first, rows, logits, AFFINE)
    return columns


@kernel
def mixed(workspace: address, logits: address, stride: count, columns: count, used: count) -> real:
    """Make a row of logits that of all models; returns what is subtracted from them for log-probabilities.

    logits    of the first model, float32 [columns], of which `used` are candidates'
    stride    bytes from there to the same row of the next model
    """
    w = at(WORKSPACE, workspace, 0)
    if w.models == 1:
        return log_sum_exp(logits, columns)
    total = np.float32(0.0)
    for number in range(w.models):
        weight, own = at(MEMBER, w.members, number).weight, logits + number * stride
        total = total + weight * log_sum_exp(own, columns)
        add_weighted(own, columns, weight, number, logits)
    for column in range(used, columns):
        store_f32(logits, column, LOWEST)
    return total
