"""Mini-batches: the next sentences begin when all have ended; until then ended ones are decoded on.

Sources may be padded to the longest of their mini-batch with </s>: padding is encoded, is attended over, and gets
weights of 0. All else is the engine, so that translations have its bits. Some of its kernels are replaced. They read a
sentence's length without padding from unused bits: the upper half of a padded sentence's length is with padding, the
lower half without, and these numbers follow the offsets of a BATCH.
"""

import functools

import numpy as np

from bench.programs.replaced import program_with
from cpunmt.architectures.records import ROW
from cpunmt.engine import program
from cpunmt.engine.engine import _EMPTY_BATCH, Engine
from cpunmt.kernels.attention import pack_rows, score_keys, self_attention
from cpunmt.kernels.matmul.float_matmul import float_heads, float_matmul, new_float_product
from cpunmt.kernels.matmul.int8_matmul import AFFINE
from cpunmt.kernels.records import SCRATCH, SETTINGS
from cpunmt.kernels.softmax import LOWEST, softmax_columns, softmax_rows
from cpunmt.layers.attention import projected
from cpunmt.layers.linear import linear
from cpunmt.layers.records import SELF_ATTENTION
from cpunmt.layers.residual import after_block, before_block
from cpunmt.search.ensemble import encode_sentences, row_logits, step_rows
from cpunmt.search.fused_output import choose_fused
from cpunmt.search.output.candidates import name_candidates
from cpunmt.search.output.layer import row_columns, score_rows, share
from cpunmt.search.records import BATCH, HYPOTHESIS, MEMBER, SLOT, WORKSPACE
from cpunmt.search.sentence import end_sentence, start_sentence
from cpunmt.search.settings import SEARCH
from cpunmt.search.step import choose, select
from cpunmt.simd.intrinsics import address_of, at, load_i64, store_f32, store_i64
from cpunmt.simd.jit import address, count, inlined, kernel

ROOM = 1 << 20  # sentences of a call at most
LENGTHS = 8 * ROOM  # bytes from an offset to its sentence's length, or both lengths
NOTHING = np.float32(0.0)  # instead of the smallest result of our exp, whose products are denormal, and slow


@inlined
def _fill(numbers, begin, end, number):
    for place in range(begin, end):
        store_f32(numbers, place, number)


@kernel
def masked_encoder_attention(layer: address, settings: address, scratch: address, offsets: address, sentences: count):
    """Computes `encoder_attention` for padded sentences."""
    weights, s, w = at(SELF_ATTENTION, layer, 0), at(SETTINGS, settings, 0), at(SCRATCH, scratch, 0)
    start = load_i64(offsets, 0)
    rows = load_i64(offsets, sentences) - start
    before_block(address_of(weights.residual), settings, scratch, rows)
    linear(address_of(weights.query_key_value), w.input, w.quantized, w.row_scales, rows, w.wide, AFFINE, w.room)
    for sentence in range(sentences):
        first, lengths = load_i64(offsets, sentence) - start, load_i64(offsets + LENGTHS, sentence)
        context = w.context + 4 * first * s.model_dim
        self_attention(settings, scratch, 0, w.wide + 12 * first * s.model_dim, lengths, context)
    projected(address_of(weights.output), settings, scratch, rows)
    after_block(address_of(weights.residual), settings, scratch, rows)


@kernel
def masked_self_attention(
    settings: address, scratch: address, relative: address, qkv: address, length: count, out: address
):
    """Computes `self_attention` of a padded sentence, both of whose lengths are in `length`; `relative` is not used."""
    s, w = at(SETTINGS, settings, 0), at(SCRATCH, scratch, 0)
    model_dim, heads, factor = s.model_dim, s.heads, s.attention_scale
    packed, scores = w.packed, w.scores
    padded, real = length >> 32, length & 0xFFFFFFFF
    head_dim = model_dim // heads
    panels = (padded + 15) // 16
    row_bytes, score_bytes = 12 * model_dim, 64 * panels
    scored, weighted = new_float_product(), new_float_product()
    scored.rows, scored.depth, scored.panels = padded, head_dim, panels
    scored.a_row_bytes, scored.a_depth_bytes, scored.out_row_bytes = row_bytes, 4, score_bytes
    scored.w_panel_bytes, scored.w_depth_bytes = 64 * head_dim, 64
    weighted.rows, weighted.depth, weighted.panels = padded, padded, head_dim // 16
    weighted.a_row_bytes, weighted.a_depth_bytes, weighted.out_row_bytes = 4, score_bytes, 4 * model_dim
    weighted.w_panel_bytes, weighted.w_depth_bytes = 64, row_bytes
    for head in range(heads):
        q = qkv + 4 * head * head_dim
        k, v = q + 4 * model_dim, q + 8 * model_dim
        pack_rows(q, row_bytes, padded, head_dim, w.pointers, packed)
        float_matmul(address_of(scored), k, packed, scores)
        _fill(scores, 16 * panels * real, 16 * panels * padded, LOWEST)
        softmax_columns(scores, padded, panels, factor)
        _fill(scores, 16 * panels * real, 16 * panels * padded, NOTHING)
        float_matmul(address_of(weighted), scores, v, out + 4 * head * head_dim)


@kernel
def masked_cross_attention_row(
    settings: address,
    scratch: address,
    q: address,
    keys: address,
    values: address,
    length: count,
    out: address,
    ahead: count,
):
    """Computes `cross_attention_row`; of a padded sentence both lengths are in `length`."""
    s, w = at(SETTINGS, settings, 0), at(SCRATCH, scratch, 0)
    model_dim, heads = s.model_dim, s.heads
    padded, real = length >> 32, length & 0xFFFFFFFF
    head_dim = model_dim // heads
    panels = (padded + 15) // 16
    head_bytes, score_bytes = 4 * head_dim, 64 * panels
    score_keys(settings, q, keys, panels, 64 * head_dim * panels, score_bytes, w.scores, ahead)
    for head in range(heads):
        _fill(w.scores + head * score_bytes, real, padded, LOWEST)
    softmax_rows(w.scores, heads, 16 * panels, padded, s.attention_scale, w.sums)
    for head in range(heads):
        _fill(w.scores + head * score_bytes, real, padded, NOTHING)
    product = new_float_product()
    product.rows, product.depth, product.panels = heads, padded, head_dim // 16
    product.a_row_bytes, product.a_depth_bytes, product.out_row_bytes = score_bytes, 4, head_bytes
    product.w_panel_bytes, product.w_depth_bytes, product.w_row_bytes = 64, head_bytes, head_bytes * padded
    product.w_places, product.w_ahead = 0, ahead
    float_heads(address_of(product), w.scores, values, out)


@kernel
def translate_mini_batches(batch: address, workspace: address, begin: count, budget: count) -> count:
    """Translates as `translate`, but fills slots only when all sentences have ended."""
    b, w = at(BATCH, batch, 0), at(WORKSPACE, workspace, 0)
    model = at(MEMBER, w.members, 0).model
    fused = w.models == 1 and at(SEARCH, b.search, 0).whole_logits == 0
    if begin:
        w.waiting, w.active_count, w.row_count, w.filling, w.sharing = 0, 0, 0, 0, 0
        w.free_count = w.slots
        for slot in range(w.slots):
            store_i64(w.free_slots, slot, w.slots - 1 - slot)
    waiting, active, rows, filling, spent = w.waiting, w.active_count, w.row_count, w.filling, 0
    while (waiting < b.sentences or active > 0) and spent < budget:
        if filling or active == 0:
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
                    lengths = load_i64(b.offsets + LENGTHS, sentence)
                    at(SLOT, w.sentences, slot).source_length = lengths
                    at(ROW, w.rows, rows).source_length = lengths
                    store_i64(w.active, active, slot)
                    active += 1
                    rows += 1
            filling = 0
            if waiting < b.sentences and active < b.slots:
                filling = 1
                break
        if b.full_output == 0 and w.together and w.sharing == 0:
            share(model, workspace, active)
        step_rows(workspace, rows)
        spent += rows
        name_candidates(batch, workspace, rows)
        row = 0
        while row < rows:
            if fused:
                row += choose_fused(batch, workspace, row, rows)
                continue
            scored = score_rows(batch, workspace, row, rows)
            for i in range(scored):
                logits = row_logits(batch, workspace, row + i, i)
                choose(batch, workspace, row + i, logits, row_columns(batch, workspace, row + i))
            row += scored
        row, next_row, going = 0, 0, 0
        for i in range(active):
            slot = load_i64(w.active, i)
            s = at(SLOT, w.sentences, slot)
            live = s.live
            if s.sentence >= 0:
                next_row = select(model, batch, workspace, slot, row, next_row)
                if s.live > 0:
                    going += 1
                else:
                    end_sentence(batch, workspace, slot)
                    s.sentence, s.live, s.ended = -1, live, 0
            if s.sentence < 0:
                for k in range(live):
                    same, copy = at(ROW, w.rows, row + k), at(ROW, w.next_rows, next_row)
                    copy.slot, copy.source_length, copy.step, copy.piece = slot, s.source_length, same.step, same.piece
                    copy.item, copy.parent_item, copy.parent, copy.alignment = same.item, same.parent_item, row + k, 0
                    at(HYPOTHESIS, w.next_hypotheses, next_row).number = -1
                    next_row += 1
            row += live
        rows = next_row
        if going == 0:
            active, rows = 0, 0
        w.rows, w.next_rows = w.next_rows, w.rows
        w.hypotheses, w.next_hypotheses = w.next_hypotheses, w.hypotheses
    w.waiting, w.active_count, w.row_count, w.filling = waiting, active, rows, filling
    if waiting < b.sentences or active > 0:
        return 1
    return 0


@functools.cache
def replaced(padded: bool) -> program.Program:
    """Returns the program with these kernels; compiles it anew, half a minute."""
    masked = {
        "encoder_attention": masked_encoder_attention,
        "self_attention": masked_self_attention,
        "cross_attention_row": masked_cross_attention_row,
    }
    return program_with({"translate": translate_mini_batches, **(masked if padded else {})})


class MiniBatches(Engine):
    """An Engine of one Transformer that decodes mini-batches, without prefixes, attention or sampling."""

    def __init__(self, model, shortlist, padded: bool):
        super().__init__(model, shortlist)
        self._padded, self._program = padded, replaced(padded)

    def _prepared(self, sources, limits, search, prefixes, slots, refill=1.0, bounded=False):
        """Prepares as the base class; pads sources if required. Raises ValueError for more than ROOM sentences."""
        if len(sources) > ROOM:
            raise ValueError(f"{len(sources)} sentences, expected at most {ROOM}")
        lengths, padded = np.array(list(map(len, sources))), []
        if self._padded:
            slots, end = slots or self.usual_slots(search, int(lengths.max())), [self.model.config.eos_id]
            for first in range(0, len(sources), slots):
                longest = lengths[first : first + slots].max()
                padded += [[*source, *end * (longest - len(source))] for source in sources[first : first + slots]]
        given = padded or sources
        record, workspace, made, kept = super()._prepared(given, limits, search, prefixes, slots, refill, bounded)
        places, count = np.zeros(2 * ROOM, np.int64), len(given)  # memory is used only when written
        sizes = np.array(list(map(len, given)))
        np.cumsum(sizes, out=places[1 : count + 1])
        places[ROOM : ROOM + count] = lengths + (sizes << 32 if self._padded else 0)
        record[list(_EMPTY_BATCH).index("offsets")] = places.ctypes.data
        return record, workspace, made, (*kept, places)
