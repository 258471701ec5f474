"""Logits of some pieces of a large vocabulary, read from its table without gathering or packing.

If each row of hidden vectors scores other pieces, packing them does not pay: gathering and transposing them
costs more than their product. This module reads the rows of a TABLE in place, once, sixteen pieces at a time.

The bits are those of `candidates.gather_output` and a product with mode AFFINE, in every scheme.
"""

import numpy as np

from cpunmt.kernels.matmul.packing import LINE, PANEL
from cpunmt.kernels.matmul.quantize_rows import PLANES
from cpunmt.kernels.records import ENTRY, FLOAT32, INT16, TABLE, WEIGHT_BYTES
from cpunmt.kernels.softmax import LOWEST
from cpunmt.simd.intrinsics import address_of, at, lesser, load_f32, load_i32, local_record, prefetch_early, store_i32
from cpunmt.simd.jit import address, count, inlined, kernel
from cpunmt.simd.row_tile import float_row_sums, int8_row_sums, int16_row_sums, quadruples
from cpunmt.simd.sparse_tile import gather
from cpunmt.simd.vector import broadcast, first_lanes, float_bits_of, fma, maximum, store, to_floats

_WEIGHT_BYTES = np.array(WEIGHT_BYTES)

# Bytes of rows between prefetching and reading; no processor can predict their places. A smaller distance is too late
# for rows from memory, which with this one are read nearly as fast as rows in order (Intel Xeon). Prefetching into the
# L1 cache, which waits for fewer lines at a time, is slower, except for weights in the L2 cache: a fifth faster.
AHEAD = 32768

_new_ids = local_record(np.dtype([("ids", np.int32, PANEL)]))


@inlined
def _prefetch_beside(table, piece):
    """Prefetches the values beside a row."""
    prefetch_early(table.bias + 4 * piece if table.scheme == FLOAT32 else address_of(at(ENTRY, table.entries, piece)))


@kernel
def score_pieces(
    table: address,
    depth: count,
    x: address,
    quantized: address,
    row_scales: address,
    rows: count,
    pieces: address,
    candidates: count,
    out: address,
):
    """Computes logits of pieces of a TABLE record that is an output layer, for rows that score the same pieces.

    table         with `entries` if it is of integers
    depth         model_dim, a multiple of 16
    x             float32 [rows, depth]; FLOAT32 only
    quantized     the same for a product of the table's scheme (`layers.linear.quantize`); integers only
    row_scales    float32 [rows, 2]: scale and shift of each row; integers only
    pieces        int32 [candidates], at least one; in any order, preferably ascending
    out           float32 [rows, candidates rounded up to a multiple of 16]; beyond the candidates it is LOWEST
    """
    w, last = at(TABLE, table, 0), address_of(_new_ids())
    scheme, row_bytes = w.scheme, _WEIGHT_BYTES[w.scheme] * depth
    columns, q_bytes = (candidates + PANEL - 1) // PANEL * PANEL, 2 * depth if scheme == INT16 else PLANES * depth
    lowest, floor, ahead = broadcast(LOWEST), broadcast(np.float32(-np.inf)), AHEAD // row_bytes
    for i in range(lesser(ahead, candidates)):
        piece = load_i32(pieces, i)
        _prefetch_beside(w, piece)
        for offset in range(0, row_bytes, LINE):
            prefetch_early(w.rows + piece * row_bytes + offset)
    for first in range(0, columns, PANEL):
        ids, early = pieces + 4 * first, pieces + 4 * lesser(first + ahead, candidates - PANEL)
        if first + PANEL > candidates:
            for i in range(PANEL):
                store_i32(last, i, load_i32(pieces, lesser(first + i, candidates - 1)))
            ids, early = last, last
        for i in range(PANEL):
            _prefetch_beside(w, load_i32(early, i))
        for row in range(rows):
            q = quantized + row * q_bytes
            if scheme == FLOAT32:
                sums = float_row_sums(x + 4 * row * depth, w.rows, row_bytes, ids, early)
                logits = sums + gather(w.bias, ids, 0)
            else:
                scales, totals, bias, start = quadruples(w.entries, ids)
                scale = broadcast(load_f32(row_scales, 2 * row))
                if scheme == INT16:
                    sums = to_floats(int16_row_sums(q, depth, w.rows, row_bytes, ids, early))
                    logits = fma(sums * scales, scale, bias)
                else:
                    exact = int8_row_sums(q, depth, w.rows, row_bytes, ids, early) + float_bits_of(start)
                    shift = broadcast(load_f32(row_scales, 2 * row + 1))
                    logits = fma(to_floats(exact) * scales, scale, fma(shift, totals, bias))
            # in the order of simd/tile, floor included: NaN becomes -inf
            logits = first_lanes(maximum(logits, floor), candidates - first, lowest)
            store(out + 4 * row * columns, first, logits)
            early = ids  # the first row's have been prefetched
