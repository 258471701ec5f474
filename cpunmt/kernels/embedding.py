"""Token vectors: a row of the embedding matrix, scaled, plus the position signal.

x = sqrt(model_dim) * E[id] + P[position]           id -1, the decoder's start: P[position] alone
"""

from cpunmt.kernels.records import EMBEDDING, INT8, INT16, TABLE
from cpunmt.simd.intrinsics import address_of, at, load_f32, load_i8, store_i8
from cpunmt.simd.jit import address, count, kernel
from cpunmt.simd.vector import broadcast, fma, load, load_bytes, load_words, store


@kernel
def decode_row(table: address, piece: count, depth: count, out: address):
    """Writes the int8 row [depth] of a piece of a TABLE that has only codes."""
    t, half = at(TABLE, table, 0), depth // 2
    codes = t.codes + piece * half
    for k in range(half):
        both = load_i8(codes, k)
        store_i8(out, k, load_i8(t.levels, both & 15))
        store_i8(out, half + k, load_i8(t.levels, both >> 4 & 15))


@kernel
def embed(embedding: address, piece: count, position: count, out: address):
    """Writes the float32 [model_dim] vector of `piece`, a row of an EMBEDDING record's table, at `position`."""
    e = at(EMBEDDING, embedding, 0)
    depth, signal, rows = e.depth, e.positions + 4 * position * e.depth, e.table.rows
    if piece < 0:
        for k in range(0, depth, 16):
            store(out, k, load(signal, k))
    elif e.table.scheme == INT8:
        row = rows + piece * depth
        if rows == 0:  # the last quarter of `out`: each number is read before it is overwritten
            row = out + 3 * depth
            decode_row(address_of(e.table), piece, depth, row)
        factor = broadcast(load_f32(e.table.scales, piece) * e.scale)
        for k in range(0, depth, 16):
            store(out, k, fma(load_bytes(row, k), factor, load(signal, k)))
    elif e.table.scheme == INT16:
        factor = broadcast(load_f32(e.table.scales, piece) * e.scale)
        for k in range(0, depth, 16):
            store(out, k, fma(load_words(rows + 2 * piece * depth, k), factor, load(signal, k)))
    else:
        factor = broadcast(e.scale)
        for k in range(0, depth, 16):
            store(out, k, fma(load(rows + 4 * piece * depth, k), factor, load(signal, k)))
