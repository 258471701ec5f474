"""Gzipped files: the same as the standard library reads, up to a limit, and one clear error for the rest.

What zstd has of its own is in test_zstd_file.py.
"""

import gzip
import math
import tracemalloc
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.errors import ModelFileError
from cpunmt.files.input_files import RATIO, expanded, open_expanded

LIMIT = 64 << 20


@pytest.fixture
def path(tmp_path):
    return tmp_path / "some.gz"


def both(path, limit=LIMIT):
    """What both functions read; they agree, also in refusing."""
    results = []
    for read in (lambda: expanded(path, "thing", limit).tobytes(), lambda: all_of(path, limit)):
        try:
            results.append(read())
        except ModelFileError as error:
            results.append(str(error))
    assert results[0] == results[1]
    return results[0]


def all_of(path, limit):
    with open_expanded(path, "thing", limit) as file:
        return b"".join(file)


def refusal(path, limit=LIMIT) -> str:
    found = both(path, limit)
    assert isinstance(found, str) and str(path) in found
    return found


blocks = st.lists(st.tuples(st.binary(max_size=20), st.integers(1, 3000)), min_size=1, max_size=5)


@given(blocks=blocks, level=st.integers(0, 9), members=st.integers(1, 3), zeros=st.integers(0, 9))
def test_what_was_packed_is_read(blocks, level, members, zeros, tmp_path_factory):
    parts = [block * count for block, count in blocks]
    whole = b"".join(parts) + b"."
    packed = b"".join(gzip.compress(part, level) for part in [*parts[: members - 1], b"".join(parts[members - 1 :])])
    path = tmp_path_factory.getbasetemp() / "round.gz"
    path.write_bytes(packed + gzip.compress(b".") + bytes(zeros))
    assert both(path) == whole
    path.write_bytes(b"plain" + whole)
    assert both(path) == b"plain" + whole


def test_a_member_may_end_with_a_full_buffer(path):
    """Found by the test above: the last two bytes of the first member come by themselves."""
    path.write_bytes(gzip.compress(bytes(18 * 3641), 1) + gzip.compress(b"."))
    assert both(path) == bytes(18 * 3641) + b"."


def test_plain_files_are_mapped_and_nothing_can_be_written(path):
    path.write_bytes(b"plain")
    assert isinstance(expanded(path, "thing", LIMIT), np.memmap)
    for content in (b"plain", gzip.compress(b"plain")):
        path.write_bytes(content)
        assert not expanded(path, "thing", LIMIT).flags.writeable


def test_lines_are_read_one_by_one(path):
    lines = [b"%d\n" % i for i in range(10_000)]
    path.write_bytes(gzip.compress(b"".join(lines)))
    with open_expanded(path, "thing", LIMIT) as file:
        assert [file.readline(100) for _ in lines] == lines
        assert file.readline() == b""


def test_broken_gzip_is_refused(path):
    packed = gzip.compress(bytes(range(256)) * 99)
    for content, message in [
        (packed[:-1], "ends too early"),
        (packed[:-8], "ends too early"),
        (packed[:5], "ends too early"),
        (packed[:-8] + bytes(8), "incorrect data check"),
        (packed + b"more", "other bytes after its end"),
        (packed[:2] + b"\7" + packed[3:], "unknown compression method"),
        (packed + packed[:-3], "ends too early"),
        (b"\x1f\x8b", "ends too early"),
    ]:
        path.write_bytes(content)
        assert message in refusal(path)


def test_a_git_lfs_pointer_is_named(path):
    path.write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 17140755\n")
    assert "is a Git LFS pointer, not the thing" in refusal(path)


def test_a_file_that_is_not_there(path):
    assert "not found" in refusal(path)
    path.write_bytes(b"")
    assert "empty" in refusal(path)
    path.write_bytes(gzip.compress(b""))
    with pytest.raises(ModelFileError, match="empty inside"):
        expanded(path, "thing", LIMIT)


def test_limits(path):
    content = np.random.default_rng(1).bytes(5000)
    path.write_bytes(gzip.compress(content))
    assert both(path, 5500) == content
    path.write_bytes(gzip.compress(b"a" * 5000))
    assert "expands to more than 4999 bytes" in refusal(path, 4999)
    assert both(path, 5000) == b"a" * 5000
    path.write_bytes(content)
    assert "has 5000 bytes, expected at most 4999" in refusal(path, 4999)


@pytest.mark.parametrize("members", [1, 30])
def test_a_bomb_costs_no_more_than_its_limit(path, members):
    path.write_bytes(gzip.compress(bytes(4 << 20), 9) * members)
    allowed = RATIO * path.stat().st_size + (1 << 20)
    assert allowed < members * 4 << 20
    tracemalloc.start()
    assert f"expands to more than {allowed} bytes" in refusal(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.25 * allowed + (1 << 20)


def test_a_header_without_end_and_members_without_content_are_no_hang(path):
    path.write_bytes(b"\x1f\x8b\x08\x08" + bytes(6) + b"n" * (8 << 20))  # the file's name never ends
    assert "ends too early" in refusal(path)
    path.write_bytes(gzip.compress(b"") * 70_000)
    assert "more than 65536 gzip members" in refusal(path)


def test_what_is_read_without_an_end_may_have_any_number_of_members(path):
    """As bgzip writes a large text: one for each 64 KB."""
    path.write_bytes(gzip.compress(b"a\tb\n") * 70_000)
    with open_expanded(path, "sentence pairs", 1 << 40, ratio=math.inf) as file:
        assert sum(1 for _ in file) == 70_000


@settings(max_examples=200)
@given(data=st.data())
def test_damage_is_refused_or_harmless(data, tmp_path_factory):
    """A flipped bit is found by the checksum, unless it is in what the header says about time and system."""
    whole = b"".join(b"line %d of some text\n" % i for i in range(200))
    packed = bytearray(gzip.compress(whole))
    for _ in range(data.draw(st.integers(1, 3))):
        packed[data.draw(st.integers(0, len(packed) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    path = tmp_path_factory.getbasetemp() / "damaged.gz"
    path.write_bytes(packed)
    found = both(path)
    assert isinstance(found, str) or found in (whole, bytes(packed))
    try:
        expected = zlib.decompressobj(31).decompress(bytes(packed))
    except zlib.error:
        expected = None
    assert found != whole or expected == whole
