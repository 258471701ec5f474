"""Test sets: contents are read, and errors name their line."""

import gzip
import hashlib
from functools import partial

import pytest

from cpunmt.errors import CpunmtError
from cpunmt.files.input_files import zstd_module
from quantize.evaluation import evaluation_set
from quantize.evaluation.evaluation_set import named_set, read_evaluation_set

TEXT = "A dog.\tEin Hund.\nTwo dogs bark.\tZwei Hunde bellen.\tZwei Hunde.\n"


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd_module().compress])
@pytest.mark.parametrize("text", [TEXT, TEXT[:-1], TEXT.replace("\n", "\r\n"), TEXT.replace("\n", "\t\t\n")])
def test_sources_and_references(tmp_path, text, pack):
    content = pack(text.encode())
    (tmp_path / "set.tsv").write_bytes(content)
    found = read_evaluation_set("dogs", tmp_path / "set.tsv")
    assert found.name == "dogs" and found.path == str(tmp_path / "set.tsv")
    assert found.sources == ["A dog.", "Two dogs bark."] and found.words == 5
    assert found.references == [["Ein Hund."], ["Zwei Hunde bellen.", "Zwei Hunde."]]
    assert found.sha256 == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize("pack", [gzip.compress, zstd_module().compress])
def test_two_members_are_one_file(tmp_path, pack):
    lines = TEXT.splitlines(keepends=True)
    (tmp_path / "set").write_bytes(b"".join(pack(line.encode()) for line in lines))
    assert len(read_evaluation_set("dogs", tmp_path / "set").sources) == 2


def test_sources_alone_are_a_set_without_references(tmp_path):
    (tmp_path / "set").write_text("A dog.\nTwo\u2028dogs.\n", "utf-8")
    found = read_evaluation_set("dogs", tmp_path / "set")
    assert found.sources == ["A dog.", "Two\u2028dogs."] and found.references == []


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "test set is empty; expected text, one sentence a line$"),
        (b"\n", "line 1: no source"),
        (b"A dog.\tEin Hund.\n \tx\n", "line 2: no source"),
        (b"A dog.\tEin Hund.\n\nTwo dogs.\tZwei\n", "line 2: no source"),
        (b"A dog.\tEin Hund.\nTwo dogs.\t\n", "line 2: no reference, but other lines have one"),
        (b"A dog.\nTwo \xe4.\n", "line 2: not UTF-8"),
        (gzip.compress(TEXT.encode(), mtime=0)[:-4], "not a complete gzip file"),
        (gzip.compress(TEXT.encode(), mtime=0) + b"more", "not a complete gzip file"),
        (zstd_module().compress(TEXT.encode())[:-4], "not a complete zstd file"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, content, expected):
    (tmp_path / "set").write_bytes(content)
    with pytest.raises(CpunmtError, match=f"{tmp_path}/set.*{expected}"):
        read_evaluation_set("x", tmp_path / "set")


@pytest.mark.parametrize(
    "content", [pack(b"A dog.\n" * 200) for pack in (bytes, partial(gzip.compress, mtime=0), zstd_module().compress)]
)
def test_too_much_is_refused_packed_or_not(tmp_path, monkeypatch, content):
    monkeypatch.setattr(evaluation_set, "MOST_BYTES", 1000)
    (tmp_path / "set").write_bytes(content)
    with pytest.raises(CpunmtError, match="test set.* expected at most"):
        read_evaluation_set("x", tmp_path / "set")


def test_what_cannot_be_opened_is_named(tmp_path):
    for path, reason in (
        (tmp_path / "none", "not found; check the path$"),
        (tmp_path, "not a regular file"),
        ("a\0b", "null"),
    ):
        with pytest.raises(CpunmtError, match=f"test set.*{reason}"):
            read_evaluation_set("x", path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("news=a/b.tsv.gz", ("news", "a/b.tsv.gz")),
        ("a/b.tsv.zst", ("b", "a/b.tsv.zst")),
        ("a/b.x.tsv.gz", ("b.x", "a/b.x.tsv.gz")),
        ("b.tsv", ("b", "b.tsv")),
        ("b.txt", ("b", "b.txt")),
        ("a/x=1.tsv", None),
        ("news=a/x=1.tsv", ("news", "a/x=1.tsv")),
        ("a,b=c", None),
        ("news=", None),
        ("=x", None),
        ("", None),
    ],
)
def test_a_set_has_the_name_that_is_given_or_that_of_its_file(text, expected):
    if expected:
        assert named_set(text) == expected
    else:
        with pytest.raises(ValueError, match="NAME=FILE"):
            named_set(text)
