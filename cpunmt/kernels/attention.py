"""Multi-head scaled dot-product attention on ragged batches: each sentence on its own, without padding.

    context[i] = sum_j softmax_j(q_i . k_j / sqrt(head_dim)) v_j        for each head

Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, section 3.2. Head h owns columns
h * head_dim ... (h + 1) * head_dim - 1. Some models scale the products otherwise, or add terms of distance
(`relative`, the address of a RELATIVE record; 0: none).

Sixteen scores are one vector. In self-attention they belong to sixteen queries and one key, so a softmax over the keys
is sixteen at once, lane by lane. A single query (cross-attention) has sixteen keys side by side.

Keys and values that a single query reads mostly come from memory, so those of a head are neighbours: each head reads
its own from the first byte to the last.
"""

from cpunmt.kernels.copying import copy_floats
from cpunmt.kernels.matmul.float_matmul import float_heads, float_matmul, new_float_product
from cpunmt.kernels.records import PATH, SCRATCH, SETTINGS
from cpunmt.kernels.relative import relate_columns, relate_context, relate_contexts, relate_row
from cpunmt.kernels.softmax import softmax_columns, softmax_rows
from cpunmt.simd.intrinsics import address_of, at, lesser, load_f32, load_i64, store_f32, store_i64
from cpunmt.simd.jit import address, count, kernel
from cpunmt.simd.vector import transpose


@kernel
def pack_rows(rows: address, row_bytes: count, length: count, depth: count, pointers: address, out: address):
    """Packs float32 rows [length] as the columns of panels (kernels/packing): out[p, d, j] = rows[16 p + j, d].

    rows       `depth` floats each, a multiple of 16, `row_bytes` apart
    out        float32 [panels, depth, 16]; the last panel is padded with copies of the last row
    pointers   room for int64 [16]
    """
    for first in range(0, length, 16):
        for i in range(16):
            store_i64(pointers, i, rows + lesser(first + i, length - 1) * row_bytes)
        for d in range(0, depth, 16):
            transpose(pointers, 4 * d, out + 4 * (first * depth + 16 * d), 64)


@kernel
def pack_source(settings: address, scratch: address, projected: address, length: count, keys: address, values: address):
    """Packs the keys and values of one source sentence for `cross_attention_row`.

    scratch      its `pointers` are overwritten
    projected    float32 [length, 2 * attention_dim]: keys, values
    keys         float32 [heads, panels, head_dim, 16]: of each head as `pack_rows` packs them
    values       float32 [heads, length, head_dim]
    """
    s, w = at(SETTINGS, settings, 0), at(SCRATCH, scratch, 0)
    head_dim, row_bytes, panels = s.attention_dim // s.heads, 8 * s.attention_dim, (length + 15) // 16
    for head in range(s.heads):
        key = projected + 4 * head * head_dim
        pack_rows(key, row_bytes, length, head_dim, w.pointers, keys + 64 * head * head_dim * panels)
        for i in range(length):
            value = key + 4 * s.attention_dim + i * row_bytes
            copy_floats(value, head_dim, values + 4 * head_dim * (head * length + i))


@kernel
def self_attention(settings: address, scratch: address, relative: address, qkv: address, length: count, out: address):
    """Computes all heads of one sentence, one after another.

    scratch     its `packed`, `scores` and `pointers` are overwritten
    qkv         float32 [length, 3 * attention_dim]: queries, keys, values
    out         float32 [length, attention_dim]
    """
    s, w = at(SETTINGS, settings, 0), at(SCRATCH, scratch, 0)
    attention_dim, heads, factor = s.attention_dim, s.heads, s.attention_scale
    packed, scores = w.packed, w.scores
    head_dim = attention_dim // heads
    panels = (length + 15) // 16
    row_bytes, score_bytes = 12 * attention_dim, 64 * panels
    # scores [key, query] = keys times queries; context [query, column] = softmax of these, transposed, times values
    scored, weighted = new_float_product(), new_float_product()
    scored.rows, scored.depth, scored.panels = length, head_dim, panels
    scored.a_row_bytes, scored.a_depth_bytes, scored.out_row_bytes = row_bytes, 4, score_bytes
    scored.w_panel_bytes, scored.w_depth_bytes = 64 * head_dim, 64
    weighted.rows, weighted.depth, weighted.panels = length, length, head_dim // 16
    weighted.a_row_bytes, weighted.a_depth_bytes, weighted.out_row_bytes = 4, score_bytes, 4 * attention_dim
    weighted.w_panel_bytes, weighted.w_depth_bytes = 64, row_bytes
    for head in range(heads):
        q = qkv + 4 * head * head_dim
        k, v = q + 4 * attention_dim, q + 8 * attention_dim
        pack_rows(q, row_bytes, length, head_dim, w.pointers, packed)
        float_matmul(address_of(scored), k, packed, scores)
        if relative != 0:
            relate_columns(relative, settings, scratch, head, length)
        softmax_columns(scores, length, panels, factor)
        float_matmul(address_of(weighted), scores, v, out + 4 * head * head_dim)
        if relative != 0:
            relate_contexts(relative, settings, scratch, length, out + 4 * head * head_dim)


@kernel
def score_keys(
    settings: address,
    q: address,
    keys: address,
    panels: count,
    head_bytes: count,
    row_bytes: count,
    scores: address,
    ahead: count,
):
    """Computes the scores of one query, float32 [heads, 16 * panels], rows `row_bytes` apart.

    q       float32 [attention_dim]
    keys    float32 [panels, head_dim, 16] of each head, `head_bytes` apart
    ahead   bytes from the keys to those of the next query, which are prefetched; 0: unknown
    """
    s, product = at(SETTINGS, settings, 0), new_float_product()
    head_dim = s.attention_dim // s.heads
    product.rows, product.depth, product.panels = s.heads, head_dim, panels
    product.a_row_bytes, product.a_depth_bytes, product.out_row_bytes = 4 * head_dim, 4, row_bytes
    product.w_panel_bytes, product.w_depth_bytes, product.w_row_bytes = 64 * head_dim, 64, head_bytes
    product.w_places, product.w_ahead = 0, ahead
    float_heads(address_of(product), q, keys, scores)


@kernel
def weigh_values(
    settings: address,
    scratch: address,
    values: address,
    head_bytes: count,
    places: address,
    length: count,
    out: address,
    ahead: count,
):
    """Makes the scores in `scratch` the heads' attention, and adds up the values by it.

    scratch    `scores` float32 [heads, 16 * panels] become the attention; `sums` is overwritten
    values     float32 [head_dim] each, of each head, `head_bytes` apart
    places     int64 [length]: bytes from a head's first to each; 0: they are neighbours
    out        float32 [attention_dim]
    ahead      as in `score_keys`, of values
    """
    s, w, product = at(SETTINGS, settings, 0), at(SCRATCH, scratch, 0), new_float_product()
    head_dim, stride = s.attention_dim // s.heads, (length + 15) // 16 * 16
    softmax_rows(w.scores, s.heads, stride, length, s.attention_scale, w.sums)
    product.rows, product.depth, product.panels = s.heads, length, head_dim // 16
    product.a_row_bytes, product.a_depth_bytes, product.out_row_bytes = 4 * stride, 4, 4 * head_dim
    product.w_panel_bytes, product.w_depth_bytes, product.w_row_bytes = 64, 4 * head_dim, head_bytes
    product.w_places, product.w_ahead = places, ahead
    float_heads(address_of(product), w.scores, values, out)


@kernel
def cross_attention_row(
    settings: address,
    scratch: address,
    q: address,
    keys: address,
    values: address,
    length: count,
    out: address,
    ahead: count,
):
    """Computes all heads of one query against all keys of one source sentence, side by side.

    scratch     its `scores` become the heads' attention, float32 [heads, 16 * panels]; `sums` is overwritten
    q           float32 [attention_dim]
    keys        as `pack_source` packs them
    values      the same
    out         float32 [attention_dim]
    ahead       bytes from keys and values to those of the next query
    """
    s, panels = at(SETTINGS, settings, 0), (length + 15) // 16
    head_dim = s.attention_dim // s.heads
    score_keys(settings, q, keys, panels, 64 * head_dim * panels, 64 * panels, at(SCRATCH, scratch, 0).scores, ahead)
    weigh_values(settings, scratch, values, 4 * head_dim * length, 0, length, out, ahead)


@kernel
def add_key(key: address, depth: count, keys: address, number: count):
    """Writes float32 [depth] as key `number` of panels, as `pack_rows` packs them."""
    column = keys + 64 * depth * (number // 16) + 4 * (number % 16)
    for k in range(depth):
        store_f32(column + 64 * k, 0, load_f32(key, k))


@kernel
def value_place(depth: count, heads: count, number: count) -> count:
    """Returns the bytes from the first value of `path_attention_row` to the first head's part of value `number`."""
    return 64 * depth * (number // 16) + 4 * (depth // heads) * (number % 16)


@kernel
def add_value(value: address, depth: count, heads: count, values: address, number: count):
    """Writes float32 [depth] as value `number` of `path_attention_row`."""
    head_dim, place = depth // heads, values + value_place(depth, heads, number)
    for head in range(heads):
        copy_floats(value + 4 * head * head_dim, head_dim, place + 64 * head * head_dim)


@kernel
def path_attention_row(
    settings: address,
    scratch: address,
    relative: address,
    q: address,
    path: address,
    keys: address,
    values: address,
    out: address,
):
    """Computes all heads of the query at the end of a PATH against the keys on it.

    Scores all keys of the panels in which the path has one, and takes the scores of its own.

    scratch     `scores`, `sums` as in `cross_attention_row`; with a RELATIVE record also what that needs
    keys        float32 [panels, heads, head_dim, 16], of all paths
    values      float32 [panels, heads, 16, head_dim]
    """
    s, w, p = at(SETTINGS, settings, 0), at(SCRATCH, scratch, 0), at(PATH, path, 0)
    row_bytes, stride, head_bytes = 64 * p.panels, (p.length + 15) // 16 * 16, 64 * (s.attention_dim // s.heads)
    for panel in range(p.panels):
        place, scores = keys + load_i64(p.keys, panel), p.scores + 64 * panel
        score_keys(settings, q, place, 1, head_bytes, row_bytes, scores, p.ahead)
    for i in range(p.length):
        column = load_i64(p.columns, i)
        for head in range(s.heads):
            store_f32(w.scores, head * stride + i, load_f32(p.scores + row_bytes * head, column))
    if relative != 0:
        relate_row(relative, settings, scratch, q, p.length)
    weigh_values(settings, scratch, values, head_bytes, p.values, p.length, out, p.ahead)
    if relative != 0:
        relate_context(relative, settings, scratch, p.length, out)
