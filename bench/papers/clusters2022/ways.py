"""The projection step by itself, as kernels: from the decoder's states to the best continuations of all rows.

project_steps     the engine's, by the settings of its batch: over the whole vocabulary, or over clusters
union_steps       a GPU's: the union of the sets of all rows is gathered once a step, and multiplied with all of them.
                  A row's choices depend on the others: for timing only
nearest_steps     the nearest centroid alone, of centroids in any scheme
"""

from cpunmt.architectures.records import MODEL
from cpunmt.kernels.candidates import gather_output, mark_pieces, take_marked
from cpunmt.kernels.fused_top_k import begin_row
from cpunmt.kernels.records import ADDRESS, LINEAR, WANTED, record
from cpunmt.layers.linear import row_bytes
from cpunmt.search.fused_output import begin_choice, choose_fused, end_choice
from cpunmt.search.output.blocks import take_layer
from cpunmt.search.output.candidates import find_clusters, find_column, name_candidates
from cpunmt.search.records import BATCH, CLUSTERS, HYPOTHESIS, MEMBER, WORKSPACE
from cpunmt.simd.intrinsics import address_of, at, load_i32, load_i64, store_i64
from cpunmt.simd.jit import address, count, kernel

STATES = record(
    ("x", ADDRESS),  # float32 [steps * rows, model_dim]
    ("quantized", ADDRESS),  # the same for the output layer, [steps * rows, layers.linear.row_bytes]; integers only
    ("row_scales", ADDRESS),  # float32 [steps * rows, 2]
    ("best", ADDRESS),  # int64 [steps * rows]: output: the best piece of each row, or its cluster
)
UNION = record(
    ("layer", ADDRESS),  # LINEAR with room for the whole vocabulary
    ("pieces", ADDRESS),  # int32 [vocab_size]
    ("size", ADDRESS),  # int64 [1]: pieces of all unions so far
)


@kernel
def show_states(workspace: address, states: address, first: count):
    """Sets the rows of a workspace to states from `first` on."""
    s, member = at(STATES, states, 0), at(MEMBER, at(WORKSPACE, workspace, 0).members, 0)
    m = at(MODEL, member.model, 0)
    member.hidden = s.x + 4 * first * m.model_dim
    member.quantized = s.quantized + first * row_bytes(m.output.scheme, m.model_dim)
    member.row_scales = s.row_scales + 8 * first


@kernel
def keep_best(workspace: address, states: address, first: count, rows: count):
    """Stores the best piece of each row."""
    s, w = at(STATES, states, 0), at(WORKSPACE, workspace, 0)
    for row in range(rows):
        pieces, column = at(HYPOTHESIS, w.hypotheses, row).pieces, load_i64(w.best_columns, row * w.beam)
        if pieces != 0:
            column = load_i32(pieces, column)
        store_i64(s.best, first + row, column)


@kernel
def project_steps(batch: address, workspace: address, states: address, rows: count, begin: count, end: count):
    """Runs the steps from `begin` to `end`, each of `rows` rows."""
    for step in range(begin, end):
        show_states(workspace, states, step * rows)
        name_candidates(batch, workspace, rows)
        row = 0
        while row < rows:
            row += choose_fused(batch, workspace, row, rows)
        keep_best(workspace, states, step * rows, rows)


@kernel
def union_steps(
    batch: address, workspace: address, states: address, rows: count, begin: count, end: count, union: address
):
    """Runs the same over the union of the sets of all rows of a step, at most FUSED_ROWS."""
    w, u = at(WORKSPACE, workspace, 0), at(UNION, union, 0)
    clusters = at(CLUSTERS, at(BATCH, batch, 0).clusters, 0)
    member = at(MEMBER, w.members, 0)
    m = at(MODEL, member.model, 0)
    for step in range(begin, end):
        show_states(workspace, states, step * rows)
        find_clusters(workspace, rows)
        for row in range(rows):
            cluster = load_i64(w.best_columns, row * w.beam)
            first = load_i64(clusters.offsets, cluster)
            mark_pieces(clusters.ids + 4 * first, load_i64(clusters.offsets, cluster + 1) - first, w.marks)
        found = take_marked(w.marks, m.vocab_size, u.pieces)
        store_i64(u.size, 0, load_i64(u.size, 0) + found)
        layer = at(LINEAR, u.layer, 0)
        layer.panels = (found + 15) // 16
        gather_output(address_of(m.output), u.pieces, found, m.model_dim, w.pointers, 0, u.layer)
        unk, eos = find_column(u.pieces, found, m.unk_id), find_column(u.pieces, found, m.eos_id)
        for row in range(rows):
            h = at(HYPOTHESIS, w.hypotheses, row)
            h.pieces, h.candidates, h.unk_column, h.eos_column = u.pieces, found, unk, eos
            begin_choice(batch, workspace, row)
        take_layer(u.layer, member.hidden, member.quantized, member.row_scales, rows, w.wanted, w.logits, 0, 0, 0)
        for row in range(rows):
            end_choice(batch, workspace, row)
        keep_best(workspace, states, step * rows, rows)


@kernel
def nearest_steps(
    layer: address, workspace: address, states: address, depth: count, rows: count, begin: count, end: count
):
    """Writes the nearest centroid of each row to `best`: LINEAR of centroids, whose bias is minus half their square."""
    s, w = at(STATES, states, 0), at(WORKSPACE, workspace, 0)
    size = row_bytes(at(LINEAR, layer, 0).scheme, depth)
    for step in range(begin, end):
        first = step * rows
        for row in range(rows):
            sought = at(WANTED, w.wanted, row)
            sought.normalized, sought.k, sought.only, sought.barred, sought.also_barred = 0, 1, -1, -1, -1
            sought.columns, sought.scores = s.best + 8 * (first + row), w.best_logits + 4 * row * w.beam
            begin_row(address_of(sought))
        x, quantized = s.x + 4 * first * depth, s.quantized + first * size
        take_layer(layer, x, quantized, s.row_scales + 8 * first, rows, w.wanted, w.logits, 0, 0, 0)
