"""Descriptions of corpora, and the files that they describe."""

import gzip

import pytest

from cpunmt.files.input_files import zstd_module
from models.train.text.corpora import Corpus, Example, read_corpora, read_lines

DESCRIPTION = """
train:
  captions: {file: captions.tsv.gz, en: [0], de: [1]}
  news: {file: news.tsv, en: [1], de: [2, 3], repeat: 1.5, segmentations: 2}
  french: {file: none.tsv, en: [0], fr: [1]}
development:
  news: {file: news.tsv, en: [1], de: [2], where: {column: 0, is: "13"}, every: 2}
test: {}
"""
NEWS = "12\ta\tb\tc\n13\td\te\tf\n13\tg\th\ti\n13\tj\t\tl\n13\tm\tn\to\n"


@pytest.fixture
def described(tmp_path):
    (tmp_path / "corpora.yaml").write_text(DESCRIPTION, "utf-8")
    (tmp_path / "captions.tsv.gz").write_bytes(gzip.compress("one\t eins \n\ttwo\nthree\t\nübung\tÜbung\n".encode()))
    (tmp_path / "news.tsv").write_text(NEWS, "utf-8")
    return tmp_path / "corpora.yaml"


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd_module().compress])
def test_lines_packed_or_not(tmp_path, pack):
    (tmp_path / "text").write_bytes(pack("one\u2028\r\ntwo".encode()))
    assert list(read_lines(tmp_path / "text")) == ["one\u2028\r", "two"]
    (tmp_path / "text").write_bytes(b"")
    assert list(read_lines(tmp_path / "text")) == []


def test_columns_and_empty_texts(described):
    captions, news = read_corpora(described, "train", "en", "de", described.parent)
    assert captions == Corpus("captions", [Example(("one",), ("eins",)), Example(("übung",), ("Übung",))])
    assert news.repeat == 1.5 and (captions.segmentations, news.segmentations) == (0, 2)
    assert news.examples[0] == Example(("a",), ("b", "c")) and news.examples[3] == Example(("j",), ("l",))
    _, news = read_corpora(described, "train", "de", "en", described.parent)  # the other direction
    assert news.examples[0] == Example(("b", "c"), ("a",))
    (news,) = read_corpora(described, "development", "en", "de", described.parent)  # chosen lines
    assert [example.sources for example in news.examples] == [("d",)]  # the second one chosen has no reference
    other = described.with_name("made.tsv")  # a file elsewhere
    other.write_text("x\ty\n", "utf-8")
    described.write_text(f"train: {{made: {{file: {other}, en: [0], de: [1]}}}}", "utf-8")
    nowhere = described.parent / "none"
    assert read_corpora(described, "train", "en", "de", nowhere)[0].examples == [Example(("x",), ("y",))]


def test_sources_that_name_their_target_language(described):
    text = DESCRIPTION.replace("en: [0], de: [1]", "src: [0], trg: [1], before: '>>de<<'", 1)
    described.write_text(text, "utf-8")
    (captions,) = read_corpora(described, "train", "src", "trg", described.parent)
    assert captions.examples == [Example((">>de<< one",), ("eins",)), Example((">>de<< übung",), ("Übung",))]


@pytest.mark.parametrize(
    "text, message",
    [
        ("training: {}", "expected train"),
        ("train: {a: {en: [0], de: [1]}}", "expected file"),
        ("train: {a: {file: news.tsv, en: [1], de: 2}}", "list of columns"),
        ("train: {a: {file: news.tsv, en: [1], de: [4]}}", "column 4"),
        ("train: {a: {file: news.tsv, en: [1], de: [2], segmentations: -1}}", "segmentations is -1"),
        ("train: {a: {file: news.tsv, en: [1], de: [2], segmentations: 1.5}}", "segmentations is 1.5"),
    ],
)
def test_what_is_not_understood(described, text, message):
    described.write_text(text, "utf-8")
    with pytest.raises(ValueError, match=message):
        read_corpora(described, "train", "en", "de", described.parent)
