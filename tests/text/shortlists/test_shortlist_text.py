"""Shortlists in text form: the pairs that are kept, and the files that are refused."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.errors import ModelFileError
from cpunmt.text.shortlists.shortlist import Shortlist
from cpunmt.text.vocabularies.vocabulary import Vocabulary
from tests.sample_models.small_vocabulary import train_vocabulary


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory):
    return Vocabulary(train_vocabulary(tmp_path_factory.mktemp("vocabulary") / "small.spm"))


def from_text(path, vocabulary, text, **options):
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return Shortlist.from_text(path, vocabulary, vocabulary, **options)


def lists_of(shortlist):
    """Returns source id -> target ids, without empty lists."""
    pairs = zip(shortlist.offsets[:-1].tolist(), shortlist.offsets[1:].tolist(), strict=True)
    return {source: shortlist.ids[a:b].tolist() for source, (a, b) in enumerate(pairs) if b > a}


def lines(vocabulary, triples):
    pieces = vocabulary.pieces(range(vocabulary.size))
    return "".join(f"{pieces[target]} {pieces[source]} {p}\n" for target, source, p in triples)


def test_text_keeps_the_most_probable_of_each_source(tmp_path, vocabulary):
    triples = [(20, 9, 0.1), (30, 9, 0.4), (25, 9, 0.3), (22, 7, 0.1), (40, 9, 0.0)]
    shortlist = from_text(tmp_path / "lex.s2t", vocabulary, lines(vocabulary, triples), first=50, best=2)
    assert lists_of(shortlist) == {7: [22], 9: [25, 30]}
    assert (shortlist.first, shortlist.best, shortlist.vocab_size) == (50, 2, 128)
    assert shortlist.offsets.shape == (129,)


def test_text_of_equal_probability_keeps_the_higher_id(tmp_path, vocabulary):
    text = lines(vocabulary, [(20, 9, 0.25), (30, 9, 0.25), (25, 9, 0.25)])
    assert lists_of(from_text(tmp_path / "lex.s2t", vocabulary, text, best=2)) == {9: [25, 30]}


def test_text_pairs_that_come_twice_count_with_the_last(tmp_path, vocabulary):
    text = lines(vocabulary, [(20, 9, 0.9), (30, 9, 0.5), (20, 9, 0.1)])
    assert lists_of(from_text(tmp_path / "lex.s2t", vocabulary, text, best=1)) == {9: [30]}


def test_text_null_is_skipped_and_unknown_pieces_are_unk(tmp_path, vocabulary):
    piece, other = vocabulary.pieces([9, 10])
    text = f"NULL {other} 0.5\n{other} NULL 0.5\n\n{piece} Quark 0.5\nTofu\t{piece}  0.5\n"
    text += f"{other} {other} 0.5\n{piece} {other} 0.25\n"
    assert lists_of(from_text(tmp_path / "lex.s2t", vocabulary, text)) == {1: [9], 9: [1], 10: [9, 10]}


def test_text_of_another_vocabulary_is_refused(tmp_path, vocabulary):
    """A shortlist is refused if most lines have unknown pieces, not for a few rare letters."""
    piece, other = vocabulary.pieces([9, 10])
    text = f"{piece} {other} 0.5\n{piece} Quark 0.5\n"
    from_text(tmp_path / "lex.s2t", vocabulary, text)
    with pytest.raises(ModelFileError, match=r"made for another vocabulary: 2 of 3 lines have pieces that .*\.spm"):
        from_text(tmp_path / "lex.s2t", vocabulary, text + f"Tofu {piece} 0.5\n")


def test_text_first_is_at_most_the_vocabulary(tmp_path, vocabulary):
    text = lines(vocabulary, [(20, 9, 0.9)])
    assert from_text(tmp_path / "lex.s2t", vocabulary, text, first=1000).first == 128
    for options in ({"first": 0}, {"best": 0}):
        with pytest.raises(ValueError, match="at least 1"):
            from_text(tmp_path / "lex.s2t", vocabulary, text, **options)


def test_load_recognises_all_forms(tmp_path, vocabulary):
    text = lines(vocabulary, [(20, 9, 0.1), (30, 9, 0.4), (22, 7, 0.1)]).encode()
    path = tmp_path / "lex"
    expected = from_text(path, vocabulary, text)
    for content in (text, gzip.compress(text, mtime=0), expected.to_bytes(), gzip.compress(expected.to_bytes())):
        path.write_bytes(content)
        assert Shortlist.load(path, vocabulary, vocabulary).to_bytes() == expected.to_bytes()


@given(
    st.lists(st.tuples(st.integers(0, 127), st.integers(0, 127), st.floats(0, 1, width=32)), min_size=1),
    st.integers(1, 5),
)
def test_text_is_the_definition(vocabulary, tmp_path_factory, triples, best):
    table = {}
    for target, source, probability in triples:
        table.setdefault(source, {})[target] = probability
    expected = {}
    for source, row in table.items():
        order = sorted(((p, target) for target, p in row.items() if p > 0), reverse=True)[:best]
        if order:
            expected[source] = sorted(target for _, target in order)
    path = tmp_path_factory.getbasetemp() / "lex.s2t"
    assert lists_of(from_text(path, vocabulary, lines(vocabulary, triples), best=best)) == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a b 0.5\na b\n", "line 2 is b'a b"),
        (b"a b 0.5 0.5\n", "line 1 is"),
        (b"a b many\n", "line 1 is"),
        (b"a b nan\n", "NaN"),
        (b"a b -0.5\n", "negative"),
        (b"a b 1e999\n", "infinite|line 1"),
        (b"\xff\xfe\x00 b 0.5 \xff\n", "line 1 is"),
        (b"x" * 10_000, "line 1 is"),
        (b"NULL b 0.5\n", "no pair"),
        (b"\x28\xb5\x2f\xfd rest", "zstd"),
        (b"\x1f\x8b no gzip", "cannot read|gzip"),
        (gzip.compress(b"a b 0.5\n" * 999, mtime=0)[:-9], "cannot read|gzip"),
        (b"", "empty"),
    ],
)
def test_files_that_are_no_text_shortlist(tmp_path, vocabulary, content, message):
    path = tmp_path / "lex.s2t"
    for read in (Shortlist.from_text, Shortlist.load):
        path.write_bytes(content)
        with pytest.raises(ModelFileError, match=message) as caught:
            read(path, vocabulary, vocabulary)
        assert str(path) in str(caught.value)


def test_a_file_over_the_limit_is_refused(vocabulary, tmp_path):
    with open(tmp_path / "lex.txt", "wb") as file:
        file.truncate((1 << 30) + 1)  # sparse
    with pytest.raises(ModelFileError, match="has 1073741825 bytes, expected at most 1073741824"):
        Shortlist.from_text(tmp_path / "lex.txt", vocabulary, vocabulary)
