"""Tables of pieces: every piece stays text, and broken files raise only the documented error."""

import gzip
import json

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.errors import ModelFileError
from cpunmt.text.vocabularies.piece_table import read_table

# Pieces that YAML would convert, or that need quotes.
_LISTED = r"""</s> <unk> , . ▁the yes no null ~ 1e3 0x10 1_000 << = a:b ' " \ it's # - ? : & * ! | > % @ ` [ ] { }
on off 2001-01-01 .inf -1 é 😀 >>fra<< '' "a" """
PIECES = _LISTED.split()
AWKWARD = [*dict.fromkeys(PIECES), "a: b", " ", "\t", "#: x", "", "\x85", "\u2028", "\x7f", "\x01", "▁" * 200, "- a"]
# PyYAML folds a quoted scalar with other line breaks than these, which writers of vocabularies never use
text = st.text(st.characters(codec="utf-8", exclude_characters="\n\r\x85\u2028\u2029"), max_size=20)


def table_of(path, content) -> dict:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_table(path)


def refusal(path, content) -> str:
    with pytest.raises(ModelFileError) as caught:
        table_of(path, content)
    assert str(caught.value).startswith(f"{path}: vocabulary: ") and len(str(caught.value)) < 500
    return str(caught.value)


@pytest.mark.parametrize("style", [None, '"', "'"])
def test_what_pyyaml_writes_is_read(style, tmp_path):
    table = {piece: i for i, piece in enumerate(AWKWARD)}
    written = yaml.safe_dump(table, default_flow_style=False, default_style=style, sort_keys=False, width=1 << 20)
    assert table_of(tmp_path / "vocab.yml", written) == table


@given(st.lists(text, unique=True, min_size=1, max_size=30), st.booleans())
@settings(deadline=None)
def test_any_pieces_that_pyyaml_writes_are_read(tmp_path_factory, pieces, escaped):
    table = {piece: i for i, piece in enumerate(pieces)}
    written = yaml.safe_dump(table, default_flow_style=False, allow_unicode=not escaped, width=1 << 20)
    assert table_of(tmp_path_factory.getbasetemp() / "vocab.yml", written) == table


def test_what_marian_writes_is_read(tmp_path):
    """yaml-cpp writes plain scalars, or double quotes with escapes; older files have tags and keys after `?`."""
    lines = ['"</s>": 0', "<unk>: 1", '",": 2', "▁the: 3", '"\\"": 4', '"\\x85\\u2028\\U0001F600\\t\\\\": 5', "yes: 6"]
    lines += ["~: 7", "! 'it''s': 8", "? a long one", ": 9", "a:b: 10", "# a comment", "", "<<: 11", "\u3000: 12\r"]
    pieces = ["</s>", "<unk>", ",", "▁the", '"', "\x85\u2028\U0001f600\t\\", "yes", "~", "it's", "a long one", "a:b"]
    expected = {piece: i for i, piece in enumerate([*pieces, "<<", "\u3000"])}
    content = "\n".join(["---", *lines, "..."]) + "\n"
    assert table_of(tmp_path / "vocab.yml", content) == expected
    assert table_of(tmp_path / "vocab.yml.gz", gzip.compress(content.encode())) == expected


def test_nothing_but_a_quote_is_special(tmp_path):
    """YAML would refuse these, but they are meant as pieces."""
    pieces = ["!", "&", "*", "|", ">", "%", "@", "`", "[", "{", ",", "?", "-", ":", "!!", "*a", "&b", "#c"][:-1]
    expected = {piece: i for i, piece in enumerate(pieces)}
    assert table_of(tmp_path / "vocab.yml", "".join(f"{piece}: {i}\n" for i, piece in enumerate(pieces))) == expected


@pytest.mark.parametrize(
    "content, piece, id_",
    [
        ("a: 1001", "a", 1001),
        ("a" * 1024 + ": 0", "a" * 1024, 0),
        (f"{'a: 0':16384}", "a", 0),
        ('"\\U0010ffff": 0', "\U0010ffff", 0),
    ],
)
def test_the_largest_that_a_table_may_hold(content, piece, id_, tmp_path):
    assert table_of(tmp_path / "vocab.yml", content) == {piece: id_}


def test_json_and_a_line_for_each_piece(tmp_path):
    table = {piece: i for i, piece in enumerate(AWKWARD)}
    assert table_of(tmp_path / "vocab.json", json.dumps(table)) == table
    assert table_of(tmp_path / "vocab.yml", " " + json.dumps(table)) == table  # JSON is YAML
    assert table_of(tmp_path / "vocab.txt", "</s>\n<unk>\n\u2028a: 3\r\n") == {"</s>": 0, "<unk>": 1, "\u2028a: 3": 2}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("a: 0\nb", "line 2 is 'b', expected a piece and its id"),
        ("a: x", "line 1"),
        ("a: -1", "line 1"),
        ("a: 1000000000", "line 1"),
        ("c: *a", "line 1"),
        ("'a: 0", "line 1"),
        ('"\\q": 0', "the escape '\\\\q', which is none"),
        ('"\\U00110000": 0', "which is none"),
        ("a: 0\na: 1", "the piece 'a' occurs twice"),
        ("a: 0\nb: 0", "the pieces 'b' and 'a' have one id"),
        ("a: 999999999", "expected a number from 0 to 1001"),
        ("a: 1002", "expected a number from 0 to 1001"),
        ("a" * 1025 + ": 0", "1025 characters, expected at most 1024"),
        (f"{'a: 0':16385}", "line 1 is 'a: 0 "),
        ("a" * 2000 + ": 0", "2000 characters, expected at most 1024"),
        ("a" * 100_000 + ": 0", "line 1"),
        (" " * 100_000 + ": 0", "line 1"),
        (b"\xff: 0", "not UTF-8"),
        ('{"a": [', "not valid JSON"),
        ('{"a": 0, "a": 1}', "occurs twice"),
        ('{"a": {"b": 1}}', "expected a number"),
        ('{"a": true}', "expected a number"),
        ('{"a": 1e3}', "expected a number"),
        ('{"a": ' * 100_000, "not valid JSON"),
    ],
)
def test_what_is_no_table_is_refused(content, told, tmp_path):
    assert told in refusal(tmp_path / "vocab.yml", content)


def test_a_list_of_pieces_is_numbered(tmp_path):
    assert table_of(tmp_path / "vocab.json", ' ["</s>", "<unk>", "▁a"]') == {"</s>": 0, "<unk>": 1, "▁a": 2}
    assert "item 1 is 3, expected a piece in quotes" in refusal(tmp_path / "vocab.json", '["a", 3]')
    assert "the piece 'a' occurs twice" in refusal(tmp_path / "vocab.json", '["a", "b", "a"]')
    assert "not valid JSON" in refusal(tmp_path / "vocab.json", '["a", ')
    for name, content in (
        ("vocab.json", '["a", "b", "a", "madeupword0", "a"]'),
        ("vocab.txt", "a\nb\na\nmadeupword0\na\n"),
    ):
        (tmp_path / name).write_text(content)
        expected = {"a": 0, "b": 1, "madeupword1": 2, "madeupword0": 3, "madeupword2": 4}
        assert read_table(tmp_path / name, repeats=True) == expected
    assert table_of(tmp_path / "vocab.yml", "[: 0\n]: 1\n") == {"[": 0, "]": 1}  # in YAML it is a piece
