"""Token vectors: a row of the embedding matrix, scaled, plus the position signal.

x = sqrt(model_dim) * E[id] + P[position]           id -1, the decoder's start: P[position] alone
"""

import numpy as np

from cpunmt.kernels.records import EMBEDDING, INT8, INT16
from cpunmt.simd.intrinsics import at, load_f32, load_i8, store_f32
from cpunmt.simd.jit import address, count, kernel
from cpunmt.simd.vector import broadcast, fma, load, load_bytes, load_words, store


@kernel
def embed(embedding: address, piece: count, position: count, out: address):
    """Writes the float32 [model_dim] vector of `piece`, a row of an EMBEDDING record's table, at `position`."""
    e = at(EMBEDDING, embedding, 0)
    depth, signal, rows = e.depth, e.positions + 4 * position * e.depth, e.table.rows
    if piece < 0:
        for k in range(0, depth, 16):
            store(out, k, load(signal, k))
    elif rows == 0:
        codes, levels, half = e.table.codes + piece * (depth // 2), e.table.levels, depth // 2
        for k in range(half):
            both = load_i8(codes, k)
            store_f32(out, k, np.float32(load_i8(levels, both & 15)))
            store_f32(out, half + k, np.float32(load_i8(levels, both >> 4 & 15)))
        factor = broadcast(load_f32(e.table.scales, piece) * e.scale)
        for k in range(0, depth, 16):
            store(out, k, fma(load(out, k), factor, load(signal, k)))
    elif e.table.scheme == INT8:
        factor = broadcast(load_f32(e.table.scales, piece) * e.scale)
        for k in range(0, depth, 16):
            store(out, k, fma(load_bytes(rows + piece * depth, k), factor, load(signal, k)))
    elif e.table.scheme == INT16:
        factor = broadcast(load_f32(e.table.scales, piece) * e.scale)
        for k in range(0, depth, 16):
            store(out, k, fma(load_words(rows + 2 * piece * depth, k), factor, load(signal, k)))
    else:
        factor = broadcast(e.scale)
        for k in range(0, depth, 16):
            store(out, k, fma(load(rows + 4 * piece * depth, k), factor, load(signal, k)))
