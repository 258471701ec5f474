"""Bounded reads: an unusable file is one ModelFileError that names it."""

import contextlib
import json
import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.errors import ModelFileError
from cpunmt.files import input_files
from cpunmt.files.console import one_line
from cpunmt.files.input_files import forget_pages, map_bytes, matching, packed_once, parse_json, read_bytes, read_json
from cpunmt.files.tables import aligned
from cpunmt.files.windows import windows


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


@pytest.mark.parametrize(
    ("kind", "missing", "empty"),
    [
        ("text", "text not found; check the path", "text is empty; expected text, one sentence a line"),
        (
            "vocabulary",
            "vocabulary not found; check the path, or fetch or pack the model again",
            "vocabulary is empty; fetch or pack the model again",
        ),
    ],
)
def test_advice_is_for_the_kind_of_file(tmp_path, kind, missing, empty):
    path = tmp_path / "file"
    for said in (missing, empty):
        with pytest.raises(ModelFileError) as caught:
            read_bytes(path, kind, 9)
        assert str(caught.value) == f"{path}: {said}"
        path.touch()


@pytest.mark.parametrize("size", [4, 6])
def test_a_file_that_changes_is_refused(tmp_path, monkeypatch, size):
    (tmp_path / "file").write_bytes(b"12345")
    monkeypatch.setattr(input_files, "_checked_size", lambda *given: size)
    with pytest.raises(ModelFileError, match="number changed while it was read; try again"):
        read_bytes(tmp_path / "file", "number", 9)


def test_a_file_goes_before_its_packed_forms():
    assert packed_once(["b.zst", "a.gz", "b.gz", "a", "a.zst"]) == ["a", "b.gz"]
    assert matching(["m.bin.gz", "m.bin", "x.bin", "y"], ["*.bin", "z"], ["x*"]) == ["m.bin.gz", "m.bin"]


def test_columns_are_aligned():
    rows = [["x", "1", ""], ["long", "22", "c"]]
    assert aligned(["A", "BBB", "C"], rows) == ["A     BBB  C", "x       1", "long   22  c"]
    assert aligned(["A", "BBB", "C"], rows, 2) == ["A     BBB  C", "x     1", "long  22   c"]
    assert aligned(["A"], []) == []


def test_windows_grow_and_lose_nothing():
    assert list(windows(range(10), 1, 4)) == [[0], [1, 2], [3, 4, 5, 6], [7, 8, 9]]
    assert list(windows(range(3), 1, 4)) == [[0], [1, 2]] and list(windows([], 1, 4)) == []
    broken, found = windows((6 // (2 - n) for n in range(9)), 4, 4), []
    with pytest.raises(ZeroDivisionError):
        found.extend(iter(lambda: next(broken), None))
    assert found == [[3, 6]]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError(" a\n\n b "), "a; b"),
        (ValueError(), "ValueError"),
        (MemoryError(), "out of memory"),
        (MemoryError("a\nb"), "out of memory: a; b"),
    ],
)
def test_an_error_is_one_line(error, said):
    assert one_line(error) == said


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


def test_forgotten_pages_are_read_again(tmp_path):
    """Only pages that lie wholly in the array are given back. Arrays that are not in a file stay as they are."""
    size = 1 << 22
    content = np.random.default_rng(1).integers(0, 256, size, np.uint8)
    (tmp_path / "file").write_bytes(content.tobytes())
    mapped = map_bytes(tmp_path / "file", "model", size)

    def resident():
        return int(re.search(r"RssFile:\s+(\d+)", Path("/proc/self/status").read_text())[1]) << 10

    part = mapped[1000:-1000].view(np.int8)[8:].reshape(2, -1)
    assert np.array_equal(mapped, content)
    before = resident() if sys.platform == "linux" else size
    forget_pages(part)
    assert sys.platform != "linux" or before - resident() > 0.9 * size
    assert np.array_equal(mapped, content)
    own = content.copy()
    forget_pages(own[4096:])
    forget_pages(own.reshape(2, -1)[:, ::2])
    forget_pages(mapped[::2])
    forget_pages(mapped[:0])
    assert np.array_equal(own, content) and np.array_equal(mapped, content)
