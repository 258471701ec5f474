"""subword-nmt's merges: as subword-nmt applies them, as their definition says, and from hostile files."""

import gzip
import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.errors import ModelFileError
from cpunmt.text.vocabularies.subword_codes import SubwordCodes
from tests.golden.argos_subwords import read_results, sentences

symbols = st.text("abc", min_size=1, max_size=3)
merges = st.lists(st.tuples(symbols, st.one_of(symbols, symbols.map("{}</w>".format), st.just("</w>"))), min_size=1)


def codes_of(folder, text, name="bpe.model") -> SubwordCodes:
    (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return SubwordCodes(folder / name)


@pytest.mark.parametrize("version", ["0.2", "0.1"])
def test_words_are_cut_as_by_subword_nmt(version, tmp_path):
    """The recorded pieces are of Moses' tokens, which joined pieces give back."""
    told = read_results()
    codes = codes_of(tmp_path, told["codes"] if version == "0.2" else told["codes"].partition("\n")[2])
    count = 0
    for sentence in told["pairs"]["en-de"]:
        pieces = sentence[version].split()
        words = sentence[version].replace("@@ ", "").split()
        assert [piece for word in words for piece in codes.cut(word)] == pieces
        count += len(pieces)
    assert count > 10 * len(sentences())


def slowly_cut(word, pairs, ends_apart):
    """Returns the subwords by the definition: of all neighbours the first pair in the file is merged, everywhere."""
    found = [*word, "</w>"] if ends_apart else [*word[:-1], word[-1] + "</w>"]
    while some := [pair for pair in itertools.pairwise(found) if pair in pairs]:
        best, made = min(some, key=pairs.index), []
        while found:
            is_pair = tuple(found[:2]) == best
            made.append("".join(found[: 1 + is_pair]))
            del found[: 1 + is_pair]
        found = made
    found[-1] = found[-1].removesuffix("</w>")
    found = [symbol for symbol in found if symbol]
    return [f"{symbol}@@" for symbol in found[:-1]] + found[-1:]


@given(merges, st.text("abc", max_size=20), st.booleans())
@settings(deadline=None, max_examples=300)
def test_words_are_cut_as_defined(tmp_path_factory, pairs, word, ends_apart):
    """Whatever the order of the merges: subword-nmt learns a symbol before its parts never, a file may."""
    lines = [f"{first} {second}" for first, second in pairs]
    text = "\n".join(lines if ends_apart else ["#version: 0.2", *lines])
    found = codes_of(tmp_path_factory.mktemp("codes"), text).cut(word)
    assert found == (slowly_cut(word, pairs, ends_apart) if word else [])


def test_long_words_take_no_square_of_their_length(tmp_path):
    codes = codes_of(tmp_path, "#version: 0.2.0\na a\naa aa\n")
    assert codes.cut("a" * 80_001) == ["aaaa@@"] * 20_000 + ["a"]


def test_the_end_of_a_word_is_part_of_its_last_character_or_not(tmp_path):
    merges = "a b\nb </w>\n"
    cut = [codes_of(tmp_path, f"{line}{merges}").cut("ab") for line in ("", "#version: 0.1\n", "#version: 0.2\n")]
    assert cut == [["ab"], ["ab"], ["a@@", "b"]]


def test_packed_files_and_lines_of_other_systems(tmp_path):
    for number, content in enumerate((gzip.compress(b"a b\nc d</w>"), b"a b\r\nc d</w>\r\n", b"a b \nc d</w>\na b\n")):
        codes = codes_of(tmp_path, content, f"{number}.bpe")
        assert codes.cut("abcd") == ["ab@@", "c@@", "d"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "subword codes is empty"),
        (b"#version: 0.2\n", "subword codes: no merges"),
        (b"#version: 0.3\na b\n", "the first line is '#version: 0.3', expected '#version: 0.2' or 0.1"),
        (b"#version: 0.2\na b\n\nc d\n", "line 3 is '', expected two symbols with a space between them"),
        (b"a b c\n", "line 1 is 'a b c', expected two symbols"),
        (b"a  b\n", "line 1 is 'a  b', expected"),
        (b"ab\n", "line 1 is 'ab', expected"),
        (b" b\n", "line 1 is ' b', expected"),
        (b"a b\n\xff b\n", "subword codes: not UTF-8"),
        (b"a " + b"b" * 2047, "line 1 is 'a bbb.*, expected two symbols"),
        (b"\n" * (17 << 20), "expected at most"),
        (gzip.compress(b"a b\n" * (5 << 20)), "expected at most|more than"),
    ],
)
def test_hostile_files(content, expected, tmp_path):
    with pytest.raises(ModelFileError, match=expected) as raised:
        codes_of(tmp_path, content)
    assert str(raised.value).startswith(str(tmp_path)) and "\n" not in str(raised.value)
    assert len(str(raised.value)) < 400
    assert codes_of(tmp_path, b"a " + b"b" * 2046).cut("c") == ["c"]
