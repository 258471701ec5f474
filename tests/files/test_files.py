"""Bounded reads: an unusable file is one ModelFileError that names it."""

import contextlib
import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.errors import ModelFileError
from cpunmt.files.input_files import map_bytes, parse_json, read_bytes, read_json


@pytest.mark.parametrize("read", [read_bytes, map_bytes])
def test_content_up_to_the_limit(tmp_path, read):
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert bytes(read(path, "number", 5)) == bytes(read(str(path), "number", 9)) == b"12345"
    with pytest.raises(ModelFileError, match="number has 5 bytes, expected at most 4"):
        read(path, "number", 4)


@pytest.mark.parametrize("read", [read_bytes, map_bytes])
def test_what_is_no_regular_file(tmp_path, read):
    (tmp_path / "empty").touch()
    os.mkfifo(tmp_path / "pipe")  # must not block
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    cases = {
        "none": "not found",
        "empty": "is empty",
        "pipe": "not a regular file",
        ".": "not a regular file",
    }
    cases |= {
        "loop": "cannot read",
        "a\0b": "cannot read",
        "empty/x": "cannot read",
        "x" * 300: "cannot read",
    }
    for name, message in cases.items():
        with pytest.raises(ModelFileError, match=message) as caught:
            read(tmp_path / name, "number", 9)
        assert str(tmp_path / name) in str(caught.value)


def test_a_map_is_read_only(tmp_path):
    (tmp_path / "file").write_bytes(b"12345")
    with pytest.raises(ValueError, match="read-only"):
        map_bytes(tmp_path / "file", "number", 9)[0] = 1


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(fields=st.dictionaries(st.text(), json_values, max_size=4))
def test_json_round_trip(fields):
    assert parse_json(json.dumps(fields).encode(), "file") == fields


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"7", b'{"a": NaN}', b'{"a": -Infinity}', b'{"\xff": 1}'])
def test_json_that_is_none_or_no_object(content):
    with pytest.raises(ModelFileError, match=r"^file: "):
        parse_json(content, "file")


def test_json_of_hostile_depth_or_with_a_key_twice(tmp_path):
    for content, message in (
        (b'{"a":' * 100_000, "not valid JSON"),
        (b'{"b": {"a": 1, "a": 1}}', "'a' occurs twice"),
    ):
        (tmp_path / "file").write_bytes(content)
        with pytest.raises(ModelFileError, match=message):
            read_json(tmp_path / "file", "config")


@given(content=st.binary())
def test_any_bytes_are_an_object_or_refused(content):
    with contextlib.suppress(ModelFileError):
        assert isinstance(parse_json(content, "file"), dict)
