"""Token vectors: a row of the embedding matrix, scaled, plus the position signal.

x = sqrt(model_dim) * E[id] + P[position]           id -1, the decoder's start: P[position] alone
"""

from cpunmt.kernels.reading import model_at, table_at
from cpunmt.kernels.records import INT8, INT16
from cpunmt.simd.intrinsics import load_f32
from cpunmt.simd.jit import address, count, kernel
from cpunmt.simd.vector import broadcast, fma, load, load_bytes, load_words, store


@kernel
def embed(model: address, table: address, piece: count, position: count, out: address):
    """Write the float32 [model_dim] vector of `piece`, a row of a TABLE record, at `position`."""
    m, t = model_at(model, 0), table_at(table, 0)
    depth = m.model_dim
    signal = m.positions + 4 * position * depth
    if piece < 0:
        for k in range(0, depth, 16):
            store(out, k, load(signal, k))
    elif t.scheme == INT8:
        factor = broadcast(load_f32(t.scales, piece) * m.embedding_scale)
        for k in range(0, depth, 16):
            store(out, k, fma(load_bytes(t.rows + piece * depth, k), factor, load(signal, k)))
    elif t.scheme == INT16:
        factor = broadcast(load_f32(t.scales, piece) * m.embedding_scale)
        for k in range(0, depth, 16):
            store(out, k, fma(load_words(t.rows + 2 * piece * depth, k), factor, load(signal, k)))
    else:
        factor = broadcast(m.embedding_scale)
        for k in range(0, depth, 16):
            store(out, k, fma(load(t.rows + 4 * piece * depth, k), factor, load(signal, k)))
