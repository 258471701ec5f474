"""Shortlists: candidates against a plain definition, Marian's binary form, and broken files."""

import gzip
import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.errors import ModelFileError
from cpunmt.text.shortlists.shortlist import MAGIC, Shortlist, checksum_of
from tests.support.refusal import refusal


def make(lists, first=2, vocab_size=64, best=9):
    """Makes a Shortlist from an ascending list of target ids for each source id."""
    offsets = np.cumsum([0, *map(len, lists)], dtype=np.int64)
    return Shortlist(offsets, np.array([id_ for ids in lists for id_ in ids], np.int32), first, best, vocab_size)


def same(one, other):
    return (
        np.array_equal(one.offsets, other.offsets)
        and np.array_equal(one.ids, other.ids)
        and (one.first, one.best, one.vocab_size) == (other.first, other.best, other.vocab_size)
    )


@st.composite
def shortlists(draw):
    vocab_size = draw(st.integers(1, 70))
    lists = draw(st.lists(st.sets(st.integers(0, vocab_size - 1), max_size=12).map(sorted), min_size=1, max_size=20))
    return make(lists, draw(st.integers(1, vocab_size)), vocab_size)


def candidates_reference(shortlist, source_ids, shared):
    """Implements the definition with sets and loops."""
    chosen = set(range(shortlist.first))
    for id_ in source_ids:
        chosen |= set(shortlist.ids[shortlist.offsets[id_] : shortlist.offsets[id_ + 1]].tolist())
    if shared:
        chosen |= set(source_ids)
    for id_ in range(shortlist.first, shortlist.vocab_size):
        if len(chosen) % 8 == 0:
            break
        chosen.add(id_)
    return sorted(chosen)


@given(st.data(), shortlists(), st.booleans())
def test_candidates_are_the_definition(data, shortlist, shared):
    known = min(shortlist.offsets.size - 1, shortlist.vocab_size)
    source_ids = data.draw(st.lists(st.integers(0, known - 1), max_size=30))
    found = shortlist.candidates(source_ids, shared)
    assert found.dtype == np.int32
    assert found.tolist() == candidates_reference(shortlist, source_ids, shared)


def test_candidates_of_a_sentence():
    shortlist = make([[], [], [3, 40], [40, 41, 50], [63]])
    assert shortlist.candidates([2, 3, 2, 0], False).tolist() == [0, 1, 2, 3, 4, 40, 41, 50]
    # Here 2 + 5 of the lists + 2 of the source (0 and 3 are in already) = 9 ids, and 7 more.
    expected = [0, 1, 2, 3, 4, 40, 41, 50, 63, 5, 6, 7, 8, 9, 10, 11]
    assert shortlist.candidates([4, 3, 2, 0], True).tolist() == sorted(expected)
    assert shortlist.candidates([], False).tolist() == list(range(8))


def test_a_superset_of_the_source_gives_a_superset():
    shortlist = make([[], [10], [20, 30], [10, 60]], first=8)
    few, more = (set(shortlist.candidates(ids, False).tolist()) for ids in ([1], [1, 2, 3]))
    assert {10} < few and {10, 20, 30, 60} < more


@pytest.mark.parametrize(
    ("offsets", "ids", "first", "message"),
    [
        ([0, 2, 1, 3], [1, 2, 3], 1, "rise from 0"),
        ([1, 2, 3], [1, 2, 3], 1, "rise from 0"),
        ([0, 2], [1, 2, 3], 1, "rise from 0"),
        ([0, 4], [1, 2, 3], 1, "rise from 0"),
        ([0, -1, 3], [1, 2, 3], 1, "rise from 0"),
        ([], [], 1, "rise from 0"),
        ([0, 3], [1, 2, 8], 1, "expected 0 to 7"),
        ([0, 3], [-1, 2, 3], 1, "expected 0 to 7"),
        ([0, 3], [2, 1, 3], 1, "not ascending"),
        ([0, 3], [1, 1, 3], 1, "not ascending"),
        ([0, 3], [1, 2, 3], 0, "expected 1 to"),
        ([0, 3], [1, 2, 3], 9, "expected 1 to"),
    ],
)
def test_arrays_that_contradict_are_refused(offsets, ids, first, message):
    with pytest.raises(ModelFileError, match=message):
        Shortlist(np.array(offsets, np.int64), np.array(ids, np.int32), first, 5, 8)


def test_united():
    one, alike = make([[4], [5, 6]]), make([[4], [5, 6]])
    assert Shortlist.united([]) is None and Shortlist.united([one, alike]) is one
    for other, expected in (
        (make([[4], [5, 6]], first=3, best=5), make([[4], [5, 6]], first=3)),
        (make([[4], [5, 7]]), make([[4], [5, 6, 7]])),
        (make([[4, 5], [6]], best=10), make([[4, 5], [5, 6]], best=10)),
    ):
        assert same(Shortlist.united([one, other]), expected)


# Marian's binary form


@given(shortlist=shortlists())
def test_binary_round_trip(shortlist, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "round.bin"
    content = shortlist.to_bytes()
    source_size = shortlist.offsets.size - 1
    for stored in (content, gzip.compress(content)):
        path.write_bytes(stored)
        read = Shortlist.read(path, source_size, shortlist.vocab_size)
        assert same(read, shortlist) and read.to_bytes() == content
    path.write_bytes(content)
    assert same(
        Shortlist.read(path, source_size, shortlist.vocab_size, hashlib.sha256(content).hexdigest()),
        shortlist,
    )


def test_binary_layout():
    content = make([[5], [5, 6]], first=3, best=7).to_bytes()
    assert np.frombuffer(content[:72], "<u8").tolist()[2:] == [3, 7, 3, 3, 0, 1, 3]
    assert content[:8] == MAGIC.to_bytes(8, "little") and np.frombuffer(content[72:], "<u4").tolist() == [
        5,
        5,
        6,
    ]


def test_checksum_is_that_of_the_format():
    # Calculated by hand: 0 ^ (1 + c); then h ^ (2 + c + 64 h + h // 4), modulo 2^64. The last four bytes do not count.
    c = 0x9E3779B9
    h = 1 + c
    words = np.array([1, 2, 2**64 - 1], "<u8").tobytes()
    assert checksum_of(np.frombuffer(words[:8], np.uint8)) == h
    assert checksum_of(np.frombuffer(words[:20], np.uint8)) == h ^ (2 + c + 64 * h + h // 4)
    assert checksum_of(np.frombuffer(words, np.uint8)) < 2**64


def test_read_maps_the_file(tmp_path):
    path = tmp_path / "lex.bin"
    path.write_bytes(make([[5], [5, 6]]).to_bytes())
    read = Shortlist.read(path, 2, 64)
    assert not read.ids.flags.owndata and not read.ids.flags.writeable


def test_a_last_piece_without_offset_has_an_empty_list(tmp_path):
    path = tmp_path / "lex.bin"
    path.write_bytes(make([[5], [5, 6]]).to_bytes())
    read = Shortlist.read(path, 3, 64)
    assert read.offsets.tolist() == [0, 1, 3, 3]
    assert read.candidates([2], False).tolist() == list(range(8))


def test_a_shortlist_of_a_smaller_or_larger_vocabulary_is_refused(tmp_path):
    """It would ruin every translation silently."""
    path = tmp_path / "lex.bin"
    path.write_bytes(make([[5]] * 500).to_bytes())
    for size in (499, 508, 8000):
        with pytest.raises(ModelFileError, match=f"made for 500 source pieces, the vocabulary has {size}; "):
            Shortlist.read(path, size, 64)
    for size in (500, 501, 507):
        offsets = Shortlist.read(path, size, 64).offsets
        assert offsets.tolist() == [*range(501), *[500] * (size - 500)]


def refused(path, source_size=2, target_size=64, **options):
    return refusal(Shortlist.read, path, source_size, target_size, **options)


def test_files_that_are_no_binary_shortlist(tmp_path):
    path = tmp_path / "lex.bin"
    assert "not found" in refused(path)
    content = make([[5], [5, 6]]).to_bytes()
    path.write_bytes(b"")
    assert "empty" in refused(path)
    path.write_bytes(b"haus house 0.5\n" * 9)
    assert "magic 0xf11a48d5013417f5" in refused(path)
    path.write_bytes((1234567890).to_bytes(4, "little") + content)
    assert "quicksand" in refused(path)
    path.write_bytes(content + b"\0")
    assert "has 85 bytes, expected 84" in refused(path)
    path.write_bytes(content)
    assert "made for 2 source pieces, the vocabulary has 1" in refused(path, source_size=1)
    assert "made for 2 source pieces, the vocabulary has 4" in refused(path, source_size=4)
    assert "expected 0 to 5" in refused(path, target_size=6)
    assert "SHA-256" in refused(path, sha256="0" * 64)
    path.write_bytes(content[:8] + b"12345678" + content[16:])
    assert "checksum" in refused(path)
    path.write_bytes(gzip.compress(content)[:-9])
    assert "gzip" in refused(path)


def test_a_header_of_huge_sizes_reserves_nothing(tmp_path):
    path = tmp_path / "lex.bin"
    for sizes in ([2**63, 0], [0, 2**63], [2**40, 2**40], [2**64 - 1, 2**64 - 1], [2**61, 0]):
        path.write_bytes(np.array([MAGIC, 0, 1, 1, *sizes, 0, 0], "<u8").tobytes())
        assert "by its header" in refused(path)


def test_a_gzip_bomb_is_refused(tmp_path):
    path = tmp_path / "lex.bin.gz"
    path.write_bytes(gzip.compress(bytes(65 << 20), 1))
    assert "expands to more than" in refused(path)
