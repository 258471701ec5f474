"""Sentence pairs from files: columns, weights, and text that is refused."""

import gzip
import os
import threading

import numpy as np
import pytest

from cpunmt.files.input_files import zstd_module
from cpunmt.text.vocabularies.vocabulary import Vocabulary
from quantize.shortlist.corpus import Table, TwoFiles, parse_table, read_corpus, read_rows
from tests.sample_models.small_vocabulary import train_vocabulary


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory):
    return Vocabulary(train_vocabulary(tmp_path_factory.mktemp("vocabulary") / "small.spm"))


def test_columns():
    assert parse_table("a.tsv") == Table("a.tsv", 1, (range(2, 3),), None)
    assert parse_table("C:/a:b.tsv") == Table("C:/a:b.tsv", 1, (range(2, 3),), None)
    assert parse_table("a.tsv:2,1") == Table("a.tsv", 2, (range(1, 2),), None)
    assert parse_table("a.tsv:2,3-7,9") == Table("a.tsv", 2, (range(3, 8), range(9, 10)), None)
    assert parse_table("a.tsv:1,3-") == Table("a.tsv", 1, (), 3)


@pytest.mark.parametrize(
    "columns", ["1", "0,1", "1,0", "1,1", "1,2,2", "1,5-3", "2,1-3", "1,2,", "1-2,3", ",", "1,2--4", "3,2-", "1,3-,4"]
)
def test_columns_that_are_none(columns):
    with pytest.raises(ValueError, match="a.tsv"):
        parse_table(f"a.tsv:{columns}")


def rows(path, columns="1,2"):
    return list(read_rows(parse_table(f"{path}:{columns}")))


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd_module().compress])
def test_rows_of_a_table(tmp_path, pack):
    path = tmp_path / "pairs"
    path.write_bytes(pack("x\ta\tA\r\ny\t\tB\tC\nz\u2028\t \t\xa0\n".encode()))
    assert rows(path) == [("x", ["a"]), ("y", []), ("z\u2028", [])]
    assert rows(path, "3,1") == [("A", ["x"]), ("B", ["y"]), ("\xa0", ["z\u2028"])]
    assert rows(path, "1,2-") == [("x", ["a", "A"]), ("y", ["B", "C"]), ("z\u2028", [])]
    with pytest.raises(ValueError, match="pairs: line 1 has 3 columns, expected at least 4"):
        rows(path, "1,2-4")


def test_two_files_go_line_by_line(tmp_path):
    one, other = tmp_path / "en", tmp_path / "de.gz"
    one.write_bytes(b"x\ny\n\xff\n")
    other.write_bytes(gzip.compress(b"a\n \nc"))
    assert list(read_rows(TwoFiles(one, other))) == [("x", ["a"]), ("y", []), ("\ufffd", ["c"])]
    other.write_bytes(gzip.compress(b"a\nb\nc\nd\n"))
    for first, second in ((one, other), (other, one)):
        with pytest.raises(ValueError, match=r"en: ends after 3 lines, .*de.gz goes on"):
            list(read_rows(TwoFiles(first, second)))


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(ValueError, match="none: not found"):
        rows(tmp_path / "none")
    with pytest.raises(ValueError, match="cannot be read"):
        rows(tmp_path)
    path = tmp_path / "broken.gz"
    for content in (gzip.compress(b"x\ty\n" * 99)[:-9], gzip.compress(b"x\ty\n")[:-1] + b"\xff", b"\x1f\x8b rest"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="broken.gz: sentence pairs: not a complete gzip file"):
            rows(path)
    path.write_bytes(zstd_module().compress(b"x\ty\n" * 99)[:-2])
    with pytest.raises(ValueError, match="broken.gz: sentence pairs: not a complete zstd file"):
        rows(path)


def test_an_empty_file_has_no_pairs_and_a_repeating_one_is_no_bomb(tmp_path):
    """Lines are not kept, so a corpus may be as large as it is."""
    path = tmp_path / "pairs"
    path.touch()
    assert rows(path) == []
    path.write_bytes(zstd_module().compress(b"the same\tdasselbe\n" * 200_000))
    assert sum(1 for _ in read_rows(parse_table(str(path)))) == 200_000


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_pipe_is_read_unless_it_is_packed(tmp_path, pack):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(pack(b"x\ty\n")))
    writer.start()
    if pack is bytes:
        assert rows(pipe) == [("x", ["y"])]
    else:
        with pytest.raises(ValueError, match="a pipe of gzip data; unpack it on the way"):
            rows(pipe)
    writer.join(10)


def test_translations_of_a_sentence_share_its_weight(tmp_path, vocabulary):
    path = tmp_path / "pairs.tsv"
    path.write_text("A dog\tEin Hund\tHund\nThe water\tDas Wasser\t\n", "utf-8")
    told = []
    corpus, left_out = read_corpus([parse_table(f"{path}:1,2-3")], vocabulary, vocabulary, progress=told.append)
    assert corpus.weights.tolist() == [0.5, 0.5, 1] and left_out == 0 and sum(told) == 2
    texts = [("A dog", "Ein Hund"), ("A dog", "Hund"), ("The water", "Das Wasser")]
    for k, pair in enumerate(texts):
        for text, ids, ends in zip(pair, corpus[:4:2], corpus[1:4:2], strict=True):
            assert ids[ends[k] : ends[k + 1]].tolist() == vocabulary.encode(text)[:-1]
    assert corpus.source.dtype == np.int32 and corpus.source_ends[-1] == corpus.source.size


def test_blank_and_long_sentences_are_left_out_and_counted(tmp_path, vocabulary):
    path = tmp_path / "pairs.tsv"
    path.write_text("A dog\tEin Hund\nA dog\t\n \tHund\nA dog\t" + "Hund " * 99 + "\n", "utf-8")
    corpus, left_out = read_corpus([parse_table(str(path))], vocabulary, vocabulary, longest=20)
    assert (corpus.pairs, left_out) == (1, 3)
    path.write_text("", "utf-8")
    with pytest.raises(ValueError, match="pairs.tsv: no sentence pair is left, 0 were blank"):
        read_corpus([parse_table(str(path))], vocabulary, vocabulary)
