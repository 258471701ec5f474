"""The pieces that may translate a sentence, and the output layer cut down to them.

Candidates of a sentence: the first pieces of the vocabulary, the lexical translations of each of its own
pieces, those pieces themselves where the vocabulary is shared, and a few more up to a multiple of 8; ascending.
They are those of `cpunmt.text.shortlists.shortlist.Shortlist.candidates`, which is the definition.
"""

import numpy as np

from cpunmt.kernels.embedding import decode_row
from cpunmt.kernels.records import CANDIDATES_MULTIPLE, FLOAT32, INT8, LINEAR, SHORTLIST, TABLE, WEIGHT_BYTES
from cpunmt.kernels.softmax import LOWEST
from cpunmt.simd.intrinsics import (
    at,
    lesser,
    load_f32,
    load_i32,
    load_i64,
    prefetch_early,
    prefetch_line,
    store_f32,
    store_i32,
    store_i64,
    trailing_zeros,
)
from cpunmt.simd.jit import address, count, inlined, kernel
from cpunmt.simd.sparse_tile import gather
from cpunmt.simd.vector import store, transpose

_WEIGHT_BYTES = np.array(WEIGHT_BYTES)
LOWER = 0x0F0F0F0F  # halves of each of four bytes
EARLY = 4  # panels whose embedding rows are prefetched before they are gathered


@inlined
def _mark(marks, piece):
    """Marks a piece; returns 1, or 0 if it was marked before."""
    bits = load_i64(marks, piece >> 6)
    store_i64(marks, piece >> 6, bits | (1 << (piece & 63)))
    return 1 - ((bits >> (piece & 63)) & 1)


@kernel
def take_marked(marks: address, vocab_size: count, out: address) -> count:
    """Writes the marked pieces to int32 `out`, ascending, and clears their marks; returns their number."""
    written = 0
    for word in range(vocab_size // 64 + 1):
        bits = load_i64(marks, word)
        if bits != 0:
            store_i64(marks, word, 0)
        while bits != 0:
            store_i32(out, written, 64 * word + trailing_zeros(bits))
            written += 1
            bits &= bits - 1
    return written


@kernel
def find_candidates(
    shortlist: address, source: address, length: count, vocab_size: count, marks: address, out: address
) -> count:
    """Writes the candidates of int32 source [length] to int32 `out`, ascending; returns their number.

    marks    int64 [vocab_size / 64 + 1], all 0; 0 again afterwards
    """
    table = at(SHORTLIST, shortlist, 0)
    found = lesser(table.first, vocab_size)
    for word in range(found // 64):
        store_i64(marks, word, -1)
    if found % 64:
        store_i64(marks, found // 64, (1 << (found % 64)) - 1)
    # lists are scattered in memory: all of them are prefetched before the first is read
    for i in range(length):
        piece = load_i32(source, i)
        if piece < table.words:
            prefetch_line(table.offsets + 8 * piece)
    for i in range(length):
        piece = load_i32(source, i)
        if piece < table.words:
            for j in range(load_i64(table.offsets, piece), load_i64(table.offsets, piece + 1), 16):
                prefetch_line(table.ids + 4 * j)
    for i in range(length):
        piece = load_i32(source, i)
        first, last = 0, 0
        if piece < table.words:
            first, last = load_i64(table.offsets, piece), load_i64(table.offsets, piece + 1)
        for j in range(first, last):
            found += _mark(marks, load_i32(table.ids, j))
        if table.shared:
            found += _mark(marks, piece)
    extra = table.first
    while found % CANDIDATES_MULTIPLE and extra < vocab_size:
        found += _mark(marks, extra)
        extra += 1
    return take_marked(marks, vocab_size, out)


@kernel
def copy_candidates(shortlist: address, number: count, out: address) -> count:
    """Writes a list of the shortlist, which holds those of sentences, to int32 `out`; returns its length."""
    table = at(SHORTLIST, shortlist, 0)
    first = load_i64(table.offsets, number)
    length = load_i64(table.offsets, number + 1) - first
    for i in range(length):
        store_i32(out, i, load_i32(table.ids, first + i))
    return length


@kernel
def mark_pieces(pieces: address, length: count, marks: address):
    """Marks int32 pieces [length]."""
    for i in range(length):
        _mark(marks, load_i32(pieces, i))


@kernel
def count_pieces(pieces: address, length: count, marks: address, counts: address):
    """Marks int32 pieces [length], and adds 1 to int32 counts[piece] of each."""
    for i in range(length):
        piece = load_i32(pieces, i)
        _mark(marks, piece)
        store_i32(counts, piece, load_i32(counts, piece) + 1)


@kernel
def choose_common(pieces: address, length: count, least: count, places: address) -> count:
    """Keeps those of int32 pieces [length] with places[piece] >= least; returns their number.

    places   int32: afterwards each piece's place among those kept, or -1. Counting (`count_pieces`) may begin there
             again, so a piece of more than `least` lists is kept
    """
    kept = 0
    for i in range(length):
        piece = load_i32(pieces, i)
        if load_i32(places, piece) < least:
            store_i32(places, piece, -1)
        else:
            store_i32(places, piece, kept)
            store_i32(pieces, kept, piece)
            kept += 1
    return kept


@kernel
def place_columns(
    pieces: address, length: count, places: address, beyond: count, behind: count, columns: address, others: address
) -> count:
    """Writes int32 columns[i] = places[pieces[i]], i < length, and fills up to a multiple of 16 with `beyond`.

    Pieces whose place is -1 are copied to int32 `others`, and have the columns from `behind` on. Returns their number.
    """
    found = 0
    for i in range(length):
        piece = load_i32(pieces, i)
        place = np.int64(load_i32(places, piece))
        store_i32(others, found, piece)
        store_i32(columns, i, behind + found if place < 0 else place)
        found += place < 0
    for i in range(length, (length + 15) // 16 * 16):
        store_i32(columns, i, beyond)
    return found


@kernel
def pick_columns(logits: address, columns: address, length: count, out: address):
    """Writes float32 out[i] = logits[columns[i]] for int32 columns [length], a multiple of 16."""
    for i in range(0, length, 16):
        store(out, i, gather(logits, columns, i))


@inlined
def _prefetch(table, piece, row_bytes):
    """Prefetches the part of a piece that `gather_output` reads."""
    if table.rows != 0:
        for offset in range(0, row_bytes, 64):
            prefetch_early(table.rows + piece * row_bytes + offset)
    prefetch_early(table.bias + 4 * piece)
    if table.scheme != FLOAT32:
        prefetch_early(table.scales + 4 * piece)
    if table.scheme == INT8:
        prefetch_early(table.start + 4 * piece)
        prefetch_early(table.totals + 4 * piece)


@kernel
def gather_output(
    table: address,
    pieces: address,
    candidates: count,
    depth: count,
    pointers: address,
    room: address,
    output: address,
):
    """Packs the rows of `candidates` pieces (at least 1) as the columns of the LINEAR record `output`.

    pieces    int32 [candidates]; 0: the pieces 0, 1, 2, ... themselves
    pointers  room for int64 [16]
    room      for int8 [16, depth]; only if the table has only codes
    output    its addresses hold room for `panels` panels, candidates <= 16 * panels; columns beyond the
              candidates get the score LOWEST: a copy of the last candidate's weights with scale 0. Without
              `weights` only the vectors beside them are gathered
    """
    entries, linear = at(TABLE, table, 0), at(LINEAR, output, 0)
    row_bytes = _WEIGHT_BYTES[entries.scheme] * depth
    for panel in range(linear.panels):
        if pieces != 0:
            first = 16 * (panel + EARLY) if panel > 0 else 0
            for column in range(first, lesser(16 * (panel + EARLY + 1), candidates)):
                _prefetch(entries, load_i32(pieces, column), row_bytes)
        for lane in range(16):
            column = 16 * panel + lane
            piece = lesser(column, candidates - 1)
            if pieces != 0:
                piece = load_i32(pieces, piece)
            if entries.rows != 0:
                store_i64(pointers, lane, entries.rows + piece * row_bytes)
            elif linear.weights != 0:
                store_i64(pointers, lane, room + lane * depth)
                decode_row(table, piece, depth, room + lane * depth)
            used = column < candidates
            store_f32(linear.bias, column, load_f32(entries.bias, piece) if used else LOWEST)
            if entries.scheme != FLOAT32:
                store_f32(linear.scales, column, load_f32(entries.scales, piece) if used else np.float32(0.0))
            if entries.scheme == INT8:
                store_i32(linear.start, column, load_i32(entries.start, piece))
                store_f32(linear.totals, column, load_f32(entries.totals, piece) if used else np.float32(0.0))
        if linear.weights == 0:
            continue
        # the transpose moves four bytes of a row, a group of integer depths or one float, as one element
        packed = linear.weights + 16 * panel * row_bytes
        whole = row_bytes // 64 * 64
        for offset in range(0, whole, 64):
            transpose(pointers, offset, packed + 16 * offset, 64)
        for lane in range(16):
            for group in range(whole // 4, row_bytes // 4):
                store_i32(packed, 16 * group + lane, load_i32(load_i64(pointers, lane), group))


@kernel
def gather_codes(table: address, pieces: count, depth: count, output: address):
    """Packs the codes of all rows of a TABLE as those of the LINEAR record `output`, see kernels/matmul/packing.

    depth     a multiple of 16; columns beyond the pieces repeat the last one
    """
    entries, linear = at(TABLE, table, 0), at(LINEAR, output, 0)
    for column in range(16 * linear.panels):
        row = entries.codes + lesser(column, pieces - 1) * (depth // 2)
        packed = linear.codes + 8 * depth * (column // 16) + 4 * (column % 16)
        for block in range(depth // 16):
            first, second = load_i32(row, 2 * block), load_i32(row, 2 * block + 1)
            store_i32(packed, 16 * block, (first & LOWER) | (second & LOWER) << 4)
            store_i32(packed, 16 * (block + depth // 16), (first >> 4 & LOWER) | (second >> 4 & LOWER) << 4)
