"""Smoothing, pruning, the text form, and coverage."""

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.files.input_files import zstd_module
from cpunmt.text.shortlists.shortlist import Shortlist
from cpunmt.text.vocabularies.vocabulary import Vocabulary
from quantize.shortlist.corpus import Corpus
from quantize.shortlist.lists import (
    Coverage,
    best_pairs,
    coverage,
    file_content,
    is_binary,
    smoothed,
    table,
    text_of,
)
from tests.sample_models.small_vocabulary import train_vocabulary

SIZE = 128


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory):
    return Vocabulary(train_vocabulary(tmp_path_factory.mktemp("vocabulary") / "small.spm"))


@st.composite
def tables(draw):
    """Draws (offsets, targets, counts) of six source pieces."""
    lists = draw(st.lists(st.sets(st.integers(0, SIZE - 1), max_size=9).map(sorted), min_size=6, max_size=6))
    targets = np.array([t for ids in lists for t in ids], np.int32)
    counts = draw(st.lists(st.sampled_from([0, 0.1, 0.5, 1, 2.5, 40]), min_size=targets.size, max_size=targets.size))
    return np.cumsum([0, *map(len, lists)], dtype=np.int64), targets, np.array(counts, float)


def test_smoothed_by_hand():
    # c = 4, 0.5 and 2: given up are 0.5, 0.25 and 0.5; the shares of targets 0, 1 and 2 are 1/2, 1/4 and 1/4
    found = smoothed(np.array([0, 2, 3]), np.array([0, 1, 2]), np.array([4, 0.5, 2]), np.array([8, 4, 4]), 0.5, 10.0)
    expected = [(3.5 + 10.75 / 2) / 14.5, (0.25 + 10.75 / 4) / 14.5, (1.5 + 10.5 / 4) / 12]
    np.testing.assert_allclose(found, expected)


@given(tables(), st.lists(st.integers(1, 9), min_size=SIZE, max_size=SIZE))
def test_smoothed_is_a_distribution_with_the_pairs_that_were_not_seen(pairs, frequencies):
    offsets, targets, counts = pairs
    frequencies = np.array(frequencies)
    found = smoothed(*pairs, frequencies, 0.5, 10.0)
    for s in range(6):
        one = slice(offsets[s], offsets[s + 1])
        given_up = 0.5 * np.minimum(counts[one], 1).sum()
        unseen = 1 - frequencies[targets[one]].sum() / frequencies.sum()
        rest = (given_up + 10) * unseen / (counts[one].sum() + 10)
        assert found[one].sum() + rest == pytest.approx(1) and (found[one] > 0).all()


@given(tables(), st.integers(1, 5), st.sampled_from([0.0, 0.3, 2.0]))
def test_the_best_are_the_definition(pairs, best, threshold):
    offsets, targets, values = pairs
    expected = []
    for s in range(6):
        row = [(values[k], targets[k]) for k in range(offsets[s], offsets[s + 1]) if values[k] > threshold]
        expected += [(s, t, p) for p, t in sorted(row, reverse=True)[:best]]
    found = best_pairs(offsets, targets, values, best, threshold)
    assert list(zip(*(part.tolist() for part in found), strict=True)) == expected


@given(pairs=tables(), best=st.integers(1, 5))
def test_text_and_binary_are_the_same_shortlist(vocabulary, tmp_path_factory, pairs, best):
    lexicon = best_pairs(*pairs, best)
    made = Shortlist.from_pairs(lexicon.sources, lexicon.targets, 3, best, SIZE, SIZE)
    if not made.ids.size:
        return
    path = tmp_path_factory.getbasetemp() / "lexicon"
    path.write_bytes(text_of(lexicon, vocabulary, vocabulary))
    assert Shortlist.from_text(path, vocabulary, vocabulary, 3, best).to_bytes() == made.to_bytes()
    path.write_bytes(made.to_bytes())
    assert Shortlist.read(path, SIZE, SIZE).to_bytes() == made.to_bytes()


def test_text_has_the_target_first_and_the_most_probable_first(vocabulary):
    lexicon = best_pairs(np.array([0, 0, 0, 2]), np.array([5, 7]), np.array([0.25, 0.5]), 9)
    source, low, high = vocabulary.pieces([2, 5, 7])
    assert text_of(lexicon, vocabulary, vocabulary).decode() == f"{high} {source} 0.5\n{low} {source} 0.25\n"


def test_a_piece_with_white_space_cannot_be_text(tmp_path):
    vocabulary = Vocabulary(train_vocabulary(tmp_path / "spaces.spm", user_defined_symbols=["a b"]))
    piece = vocabulary.pieces(range(vocabulary.size)).index("a b")
    lexicon = best_pairs(np.array([0, 1]), np.array([piece]), np.array([0.5]), 9)
    with pytest.raises(ValueError, match=f"spaces.spm: piece {piece} is 'a b'.*OUT.bin"):
        text_of(lexicon, vocabulary, vocabulary)


def test_first_is_at_most_the_vocabulary():
    lexicon = best_pairs(np.array([0, 1]), np.array([5]), np.array([0.5]), 9)
    assert Shortlist.from_pairs(lexicon.sources, lexicon.targets, 1000, 9, 1, SIZE).first == SIZE


def test_the_name_says_which_form():
    names = ["lex.bin", "lex.s2t.bin.gz", "lex.s2t", "bin.gz", "lex.bin.txt"]
    assert [is_binary(f"a.bin/{name}") for name in names] == [True, True, False, False, False]
    assert file_content("lex.s2t", b"x") == b"x"
    packed = file_content("lex.s2t.gz", b"x")
    assert gzip.decompress(packed) == b"x" and packed[4:8] == bytes(4)
    assert is_binary("lex.bin.zst") and zstd_module().decompress(file_content("lex.s2t.zst", b"x")) == b"x"


def example():
    lists = [[9], [], [20, 40], [41]]
    offsets = np.cumsum([0, *map(len, lists)], dtype=np.int64)
    return Shortlist(offsets, np.array([i for ids in lists for i in ids], np.int32), 2, 5, 64)


def corpus():
    # sources 2 and 3 1; references 20 40 2 60, and 41 1
    target = np.array([20, 40, 2, 60, 41, 1], np.int32)
    return Corpus(np.array([2, 3, 1], np.int32), np.array([0, 1, 3]), target, np.array([0, 4, 6]), np.ones(2, "f4"))


def test_coverage_by_hand():
    # With </s> = 0, whose list is 9: candidates 0 1 9 20 40 and 2 3 4; then 0 1 9 41 and 2 3 4 5.
    assert coverage(example(), corpus(), False, 0) == Coverage(5 / 6, 1 / 2, 8.0)


@pytest.mark.parametrize("shared", [False, True])
def test_coverage_is_that_of_the_candidates(shared):
    text, shortlist = corpus(), example()
    chosen = [set(shortlist.candidates([*ids, 0], shared).tolist()) for ids in ([2], [3, 1])]
    hits = sum(t in chosen[0] for t in (20, 40, 2, 60)) + sum(t in chosen[1] for t in (41, 1))
    found = coverage(shortlist, text, shared, 0)
    assert found.pieces == hits / 6 and found.candidates == sum(map(len, chosen)) / 2


def test_the_table_is_aligned():
    lines = table(
        [("news", "a.bin", example(), Coverage(0.97, 0.5, 88.25)), ("x", "longer", example(), Coverage(1, 1, 8))]
    )
    assert len({len(line) for line in lines}) == 1
    assert lines[1].split() == ["news", "a.bin", "2", "5", "97.00", "50.00", "88.2"]
    assert table([]) == []
