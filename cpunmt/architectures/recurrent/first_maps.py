"""Products of pieces' vectors, on either side, stored for the first pieces of the vocabulary.

Devlin 2017, https://arxiv.org/abs/1705.01991, section 4.2. A stored row is the result of an earlier product,
which has the same bits with other rows or alone. So rows are computed when they are first needed.
"""

from cpunmt.architectures.recurrent.maps import mapped
from cpunmt.architectures.recurrent.records import FIRST_MAP, MEMORY
from cpunmt.kernels.copying import copy_floats
from cpunmt.kernels.embedding import embed
from cpunmt.kernels.records import SCRATCH
from cpunmt.simd.intrinsics import address_of, at, load_flag, load_i64, store_flag, store_i64
from cpunmt.simd.jit import address, count, kernel


@kernel
def first_map(first: address, settings: address, memory: address, n: count):
    """Writes the address of FIRST_MAP's result for each of `pieces` [n] (-1: a vector of zeros) to `places`."""
    f, w = at(FIRST_MAP, first, 0), at(MEMORY, memory, 0)
    scratch = address_of(w.scratch)
    s, depth, columns = at(SCRATCH, scratch, 0), f.embedding.depth, f.map.columns
    missed = 0
    for i in range(n):
        piece = load_i64(w.pieces, i)
        if piece + 1 < f.known and load_flag(f.made, piece + 1) != 0:
            store_i64(w.places, i, f.rows + 4 * columns * (piece + 1))
        else:
            embed(address_of(f.embedding), piece, 0, s.x + 4 * missed * depth)
            store_i64(w.missed, missed, i)
            missed += 1
    if missed > 0:
        mapped(address_of(f.map), settings, s.x, missed, scratch, w.first)
    for m in range(missed):
        i, made = load_i64(w.missed, m), w.first + 4 * m * columns
        entry = load_i64(w.pieces, i) + 1
        store_i64(w.places, i, made)
        if entry < f.known and load_flag(f.made, entry) == 0:
            copy_floats(made, columns, f.rows + 4 * columns * entry)
            store_flag(f.made, entry, 1)
    w.pieces_seen += n
    w.pieces_multiplied += missed
