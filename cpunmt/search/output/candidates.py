"""The candidates of a hypothesis: all pieces, those of its sentence's shortlist, or those of its state's cluster.

Clusters (Amer et al. 2022): the centroid nearest to the input of the output layer selects the pieces worth scoring in
this step. Each row has its own, so that a translation does not depend on its batch.

A logit's column is the place of its piece among the row's candidates, which ascend.
"""

from cpunmt.architectures.records import MODEL, ROW
from cpunmt.kernels.candidates import mark_pieces, take_marked
from cpunmt.kernels.fused_top_k import begin_row
from cpunmt.kernels.records import WANTED
from cpunmt.search.output.blocks import WANTED_BYTES, take_layer
from cpunmt.search.records import BATCH, CLUSTERS, FUSED_ROWS, HYPOTHESIS, MEMBER, SENTENCES, SLOT, WORKSPACE
from cpunmt.simd.intrinsics import address_of, at, lesser, load_i32, load_i64
from cpunmt.simd.jit import address, count, kernel


@kernel
def find_column(pieces: address, candidates: count, piece: count) -> count:
    """Returns the index of `piece` among ascending int32 pieces [candidates], or -1."""
    low, high = 0, candidates
    while low < high:
        middle = (low + high) // 2
        if load_i32(pieces, middle) < piece:
            low = middle + 1
        else:
            high = middle
    if low < candidates and load_i32(pieces, low) == piece:
        return low
    return -1


@kernel
def column_of(workspace: address, row: count, piece: count) -> count:
    """Returns the column of a piece among the logits of a row, or -1."""
    h = at(HYPOTHESIS, at(WORKSPACE, workspace, 0).hypotheses, row)
    return piece if h.pieces == 0 else find_column(h.pieces, h.candidates, piece)


@kernel
def column_piece(workspace: address, row: count, column: count) -> count:
    """Returns the piece whose logit is in a column of a row."""
    pieces = at(HYPOTHESIS, at(WORKSPACE, workspace, 0).hypotheses, row).pieces
    return column if pieces == 0 else load_i32(pieces, column)


@kernel
def set_of(workspace: address, row: count) -> address:
    """Returns the CLUSTERS of a row's sentence."""
    w = at(WORKSPACE, workspace, 0)
    return at(SLOT, w.sentences, at(ROW, w.rows, row).slot).clusters


@kernel
def find_clusters(workspace: address, rows: count):
    """Writes the cluster of each row's state to the first of its `best_columns`, for neighbours of one set at once."""
    w = at(WORKSPACE, workspace, 0)
    member = at(MEMBER, w.members, 0)
    depth, first = at(MODEL, member.model, 0).model_dim, 0
    while first < rows:
        clusters, end = set_of(workspace, first), first
        while end < lesser(rows, first + FUSED_ROWS) and set_of(workspace, end) == clusters:
            sought = at(WANTED, w.wanted, end)
            sought.normalized, sought.k, sought.only, sought.barred, sought.also_barred = 0, 1, -1, -1, -1
            sought.columns, sought.scores = w.best_columns + 8 * end * w.beam, w.best_logits + 4 * end * w.beam
            begin_row(address_of(sought))
            end += 1
        centroids, wanted = address_of(at(CLUSTERS, clusters, 0).centroids), w.wanted + WANTED_BYTES * first
        take_layer(centroids, member.hidden + 4 * first * depth, 0, 0, end - first, wanted, w.logits, 0, 0, 0)
        first = end


@kernel
def name_candidates(batch: address, workspace: address, rows: count):
    """Sets the candidates of each row of a step."""
    b, w = at(BATCH, batch, 0), at(WORKSPACE, workspace, 0)
    m = at(MODEL, at(MEMBER, w.members, 0).model, 0)
    if b.clusters != 0:
        find_clusters(workspace, rows)
    for row in range(rows):
        h, slot = at(HYPOTHESIS, w.hypotheses, row), at(ROW, w.rows, row).slot
        s = at(SLOT, w.sentences, slot)
        listed = w.candidate_ids + 64 * slot * w.candidate_panels
        if b.clusters == 0:
            h.pieces, h.candidates, h.unk_column = listed if b.listed else 0, s.candidates, s.unk_column
            h.eos_column = m.eos_id  # one of the first candidates, whose columns are their ids
            if b.listed == SENTENCES:
                h.eos_column = find_column(listed, s.candidates, m.eos_id)
        else:
            clusters, cluster = at(CLUSTERS, s.clusters, 0), load_i64(w.best_columns, row * w.beam)
            begin = load_i64(clusters.offsets, cluster)
            h.pieces, h.candidates = clusters.ids + 4 * begin, load_i64(clusters.offsets, cluster + 1) - begin
            if b.listed:  # both
                mark_pieces(h.pieces, h.candidates, w.marks)
                mark_pieces(listed, s.candidates, w.marks)
                h.pieces = w.row_pieces + 64 * row * w.candidate_panels
                h.candidates = take_marked(w.marks, m.vocab_size, h.pieces)
            h.unk_column = find_column(h.pieces, h.candidates, m.unk_id)
            h.eos_column = find_column(h.pieces, h.candidates, m.eos_id)
