"""Candidates equal those of `Shortlist.candidates`; the reduced output layer is the packed matrix."""

import itertools

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cpunmt.kernels import records
from cpunmt.kernels.matmul.int8_matmul import AFFINE
from cpunmt.kernels.matmul.packing import (
    PANEL,
    pack,
    pack_codes,
    unpack,
)
from cpunmt.kernels.softmax import LOWEST
from cpunmt.layers.filling import decoded_rows
from cpunmt.text.shortlists.shortlist import Shortlist
from tests.definitions.matmul import stored_bytes
from tests.kernels.rows import SEEDS
from tests.support.guarded import Guards


def random_shortlist(generator, words, vocab_size, first):
    """Draws an ascending list of 0 to 12 targets for each source piece."""
    lists = [
        np.sort(generator.choice(vocab_size, generator.integers(0, min(13, vocab_size + 1)), replace=False))
        for _ in range(words)
    ]
    offsets = np.zeros(words + 1, np.int64)
    np.cumsum([len(targets) for targets in lists], out=offsets[1:])
    return Shortlist(offsets, np.concatenate(lists).astype(np.int32), first, 12, vocab_size)


def find(program, shortlist, source, shared, misaligned=0):
    """Returns the candidates that the kernel writes; checks the guards and the marks."""
    guard = Guards(misaligned)
    record = np.zeros(1, records.SHORTLIST)
    record["offsets"] = guard.copy(shortlist.offsets).ctypes.data
    record["ids"] = guard.copy(shortlist.ids).ctypes.data
    record["first"], record["words"], record["shared"] = shortlist.first, len(shortlist.offsets) - 1, shared
    marks = guard.copy(np.zeros(shortlist.vocab_size // 64 + 1, np.int64))  # 0 again: checked by the guard
    source = np.asarray(source, np.int32)
    most = shortlist.first + sum(np.diff(shortlist.offsets)[source[source < record["words"][0]]]) + len(source) + 7
    out = guard.empty(min(most, shortlist.vocab_size), np.int32)
    found = program.find_candidates(record, guard.copy(source), len(source), shortlist.vocab_size, marks, out)
    guard.check()
    return out[:found].copy()


@given(SEEDS, st.integers(1, 20), st.sampled_from([0, 8, 40]))
def test_lists_of_sentences_are_copied(program, seed, words, misaligned):
    shortlist, guard = random_shortlist(np.random.default_rng(seed), words, 99, 1), Guards(misaligned)
    record = np.zeros(1, records.SHORTLIST)
    record["offsets"] = guard.copy(shortlist.offsets).ctypes.data
    record["ids"] = guard.copy(shortlist.ids).ctypes.data
    for number, (begin, end) in enumerate(itertools.pairwise(shortlist.offsets)):
        out = guard.empty(end - begin, np.int32)
        assert program.copy_candidates(record, number, out) == end - begin
        assert np.array_equal(out, shortlist.ids[begin:end])
    guard.check()


@given(SEEDS, st.integers(1, 300), st.integers(1, 200), st.integers(1, 20), st.booleans(), st.sampled_from([0, 8, 40]))
@example(0, 64, 64, 3, True, 0)
@example(0, 63, 63, 3, True, 0)
@example(0, 128, 64, 5, True, 0)
@example(0, 1, 1, 1, True, 0)
@settings(deadline=None, max_examples=300)
def test_candidates_are_those_of_the_definition(program, seed, vocab_size, first, length, shared, misaligned):
    generator = np.random.default_rng(seed)
    words = vocab_size if shared else int(generator.integers(1, 100))
    shortlist = random_shortlist(generator, words, vocab_size, min(first, vocab_size))
    source = generator.integers(0, words, length)
    expected = shortlist.candidates(source, shared)
    assert np.array_equal(find(program, shortlist, source, shared, misaligned), expected)


def test_a_piece_without_a_list_adds_only_itself(program):
    """A source piece beyond the shortlist's last."""
    shortlist = Shortlist(np.array([0, 2], np.int64), np.array([30, 40], np.int32), 8, 2, 100)
    assert find(program, shortlist, [0, 70], True).tolist() == [*range(13), 30, 40, 70]
    assert find(program, shortlist, [70], False).tolist() == list(range(8))


SCHEMES = {
    np.dtype(np.int8): records.INT8,
    np.dtype(np.int16): records.INT16,
    np.dtype(np.float32): records.FLOAT32,
}
USED = {  # vectors of a table
    records.INT8: ("scales", "start", "totals", "bias"),
    records.INT16: ("scales", "bias"),
    records.FLOAT32: ("bias",),
}
dtypes = st.sampled_from(list(SCHEMES))


def random_rows(generator, pieces, depth, dtype):
    if dtype == np.float32:
        return generator.standard_normal((pieces, depth)).astype(dtype)
    most = np.iinfo(dtype).max
    return generator.integers(-most, most + 1, (pieces, depth), dtype)


def random_codes(generator, pieces, depth):
    """Returns uint8 [pieces, depth / 2], two codes each, and int8 levels [16]."""
    return generator.integers(0, 256, (pieces, depth // 2), np.uint8), generator.integers(-127, 128, 16, np.int8)


def gather(program, rows, vectors, pieces, panel_count, misaligned=0, codes=None):
    """Returns the weights and vectors by name as the kernel packs them; checks the guards.

    codes    what `rows` stand for, if the table has only them: (codes, levels)
    """
    guard = Guards(misaligned)
    table, output = np.zeros(1, records.TABLE), np.zeros(1, records.LINEAR)
    scheme = SCHEMES[rows.dtype]
    table["scheme"] = output["scheme"] = scheme
    depth, room = rows.shape[1], 0
    if codes is None:
        table["rows"] = guard.copy(rows).ctypes.data
    else:
        table["codes"], table["levels"] = (guard.copy(array).ctypes.data for array in codes)
        room = guard.empty((16, depth), np.int8)
    output["depth"], output["panels"] = depth, panel_count
    columns = PANEL * panel_count
    made = {"weights": guard.empty(pack(np.zeros((depth, columns), rows.dtype)).shape, rows.dtype)}
    for name in USED[scheme]:
        table[name] = guard.copy(vectors[name]).ctypes.data
        made[name] = guard.empty(columns, vectors[name].dtype)
    for name, array in made.items():
        output[name] = array.ctypes.data
    ids = 0 if pieces is None else guard.copy(pieces)
    candidates = len(rows) if pieces is None else len(pieces)
    program.gather_output(table, ids, candidates, depth, guard.empty(16, np.int64), room, output)
    guard.check()
    return made


@given(SEEDS, st.integers(1, 50), st.integers(1, 6), st.booleans())
@settings(deadline=None)
def test_rows_that_are_codes_alone(program, seed, candidates, sixteens, every):
    """They are gathered as the int8 rows that they stand for."""
    generator, depth = np.random.default_rng(seed), 16 * sixteens
    vocab_size = candidates if every else 60
    codes, levels = random_codes(generator, vocab_size, depth)
    rows, vectors = decoded_rows(codes, levels), random_vectors(generator, vocab_size)
    pieces = None if every else np.sort(generator.choice(vocab_size, candidates, replace=False)).astype(np.int32)
    panel_count = -(-candidates // PANEL)
    made = gather(program, rows, vectors, pieces, panel_count, codes=(codes, levels))
    expected = gather(program, rows, vectors, pieces, panel_count)
    assert all(np.array_equal(made[name], expected[name]) for name in expected)


def random_vectors(generator, pieces):
    vectors = {name: generator.standard_normal(pieces).astype(np.float32) for name in ("scales", "totals", "bias")}
    return vectors | {"start": generator.integers(-(2**31), 2**31, pieces, np.int32)}


@given(SEEDS, st.integers(1, 100), st.integers(1, 6), dtypes, st.booleans(), st.integers(0, 3))
@settings(deadline=None)
def test_gathered_columns_are_the_packed_rows(program, seed, candidates, sixteens, dtype, every, more):
    """Covers chosen pieces and the whole vocabulary, with padding columns that softmax ignores."""
    generator = np.random.default_rng(seed)
    vocab_size, depth = candidates if every else 150, 16 * sixteens
    rows, vectors = random_rows(generator, vocab_size, depth, dtype), random_vectors(generator, vocab_size)
    pieces = None if every else np.sort(generator.choice(vocab_size, candidates, replace=False)).astype(np.int32)
    panel_count = -(-candidates // PANEL) + more
    made = gather(program, rows, vectors, pieces, panel_count, misaligned=4 * (seed % 3))
    chosen = np.arange(vocab_size) if every else pieces
    scheme = SCHEMES[dtype]
    assert np.array_equal(unpack(made["weights"], candidates), rows[chosen].T)
    for name in USED[scheme]:
        assert np.array_equal(made[name][:candidates], vectors[name][chosen])


@given(SEEDS, st.integers(1, 40), dtypes)
@settings(deadline=None)
def test_columns_beyond_the_candidates_score_lowest(program, seed, candidates, dtype):
    """For any hidden vector: exp of the distance to any real score is practically 0."""
    generator = np.random.default_rng(seed)
    rows, vectors = random_rows(generator, candidates, 32, dtype), random_vectors(generator, candidates)
    vectors["start"][:] = 0
    made = gather(program, rows, vectors, None, 4)
    record = np.zeros(1, records.LINEAR)
    record["scheme"], record["depth"], record["panels"] = SCHEMES[dtype], 32, 4
    for name, array in made.items():
        record[name] = array.ctypes.data
    x = generator.standard_normal((3, 32)).astype(np.float32)
    out = np.empty((3, 64), np.float32)
    row_scales = np.empty((3, 2), np.float32)
    if dtype == np.int8:
        q = np.empty(stored_bytes(np.zeros(x.shape, np.int8)).shape, np.uint8)
        program.quantize_rows(x, 3, 32, 0.0, q, row_scales)
        program.int8_linear(record, q, row_scales, 3, out, AFFINE, 0)
    elif dtype == np.int16:
        q = np.empty(x.shape, np.int16)
        program.quantize_rows16(x, 3, 32, 500.0, q, row_scales)
        program.int16_linear(record, q, row_scales, 3, out, AFFINE)
    else:
        program.float_linear(record, x, 3, out, AFFINE)
    assert (out[:, candidates:] < 0.99 * LOWEST).all() and (np.abs(out[:, :candidates]) < 1e7).all()


@given(SEEDS, st.integers(1, 300), st.integers(1, 6), st.sampled_from([0, 8, 40]), st.data())
@settings(deadline=None)
def test_common_candidates_and_where_each_list_has_its_own(program, seed, vocab_size, lists, misaligned, data):
    """Marked pieces are ascending and distinct; common pieces, columns, and the values picked by them equal NumPy's."""
    generator, guard = np.random.default_rng(seed), Guards(misaligned)
    pieces = [
        np.sort(generator.choice(vocab_size, generator.integers(1, vocab_size + 1), replace=False)).astype(np.int32)
        for _ in range(lists)
    ]
    marks = guard.copy(np.zeros(vocab_size // 64 + 1, np.int64))  # 0 again: checked by the guard
    union, numbers = np.unique(np.concatenate(pieces), return_counts=True)
    out, places = guard.empty(len(union), np.int32), guard.empty(vocab_size, np.int32)
    places[:] = -1
    for one in pieces:
        program.count_pieces(guard.copy(one), len(one), marks, places)
    assert program.take_marked(marks, vocab_size, out) == len(union)
    assert np.array_equal(out, union) and np.array_equal(places[union], numbers - 1)
    least = data.draw(st.integers(0, lists))
    common = union[numbers > least]
    assert program.choose_common(out, len(union), least, places) == len(common)
    assert np.array_equal(out[: len(common)], common)
    expected = np.full(vocab_size, -1)
    expected[common] = np.arange(len(common))
    assert np.array_equal(places, expected)
    logits, behind = generator.standard_normal(len(common) + 1 + vocab_size).astype(np.float32), len(common) + 1
    for one in pieces:
        padded = -(-len(one) // PANEL) * PANEL
        columns, picked = guard.empty(padded, np.int32), guard.empty(padded, np.float32)
        others, own = guard.empty(len(one), np.int32), np.setdiff1d(one, common)
        given = guard.copy(one), len(one), guard.copy(places), len(common), behind
        assert program.place_columns(*given, columns, others) == len(own)
        assert np.array_equal(others[: len(own)], own)
        both = {**{piece: behind + i for i, piece in enumerate(own)}, **{piece: i for i, piece in enumerate(common)}}
        wanted = np.append([both[piece] for piece in one], np.full(padded - len(one), len(common))).astype(int)
        assert np.array_equal(columns, wanted)
        program.pick_columns(guard.copy(logits), columns, padded, picked)
        assert np.array_equal(picked, logits[wanted])
    guard.check()


@given(SEEDS, st.integers(1, 70), st.integers(1, 6))
@settings(deadline=None)
def test_packed_codes_are_those_of_the_rows(program, seed, pieces, sixteens):
    depth, panel_count, guard = 16 * sixteens, -(-pieces // PANEL), Guards()
    numbers = np.random.default_rng(seed).integers(0, 16, (pieces, depth), np.uint8)
    first, second = np.split(numbers, 2, axis=1)
    table, output = np.zeros(1, records.TABLE), np.zeros(1, records.LINEAR)
    table["codes"], output["panels"] = guard.copy(first | second << 4).ctypes.data, panel_count
    made = guard.empty((panel_count, depth // 8, 16, 4), np.uint8)
    output["codes"] = made.ctypes.data
    program.gather_codes(table, pieces, depth, output)
    guard.check()
    padded = numbers[np.minimum(np.arange(PANEL * panel_count), pieces - 1)]
    assert np.array_equal(made, pack_codes(np.ascontiguousarray(padded.T)))
