"""Packed files: the standard library's results, up to a limit, and one clear error for the rest."""

import gzip
import math
import os
import resource
import subprocess
import sys
import tracemalloc
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.errors import ModelFileError
from cpunmt.files import input_files
from cpunmt.files.input_files import RATIO, expanded, open_expanded, packing, plain_name, zstd_module
from tests.support.command_line import ROOT

LIMIT = 64 << 20


@pytest.fixture
def path(tmp_path):
    return tmp_path / "some.gz"


def both(path, limit=LIMIT):
    """Returns the result of both functions; checks that they agree, also in refusing."""
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


@pytest.mark.parametrize(("pack", "size"), [(gzip.compress, 4 << 20), (zstd_module().compress, 8 << 20)])
@pytest.mark.parametrize("members", [1, 30])
def test_a_bomb_costs_no_more_than_its_limit(path, pack, size, members):
    path.write_bytes(pack(bytes(size)) * members)
    allowed = RATIO * path.stat().st_size + (1 << 20)
    assert allowed < members * size
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


@pytest.mark.parametrize("pack", [gzip.compress, zstd_module().compress])
def test_members_have_a_limit(path, monkeypatch, pack):
    monkeypatch.setattr(input_files, "_MAX_MEMBERS", 3)
    path.write_bytes(pack(b"a") * 3)
    assert both(path) == b"aaa"
    path.write_bytes(pack(b"a") * 4)
    assert "more than 3 " in refusal(path)


@pytest.mark.slow
def test_what_is_read_without_an_end_may_have_any_number_of_members(path):
    """bgzip writes a large text like this: one for each 64 KB."""
    path.write_bytes(gzip.compress(b"a\tb\n") * 70_000)
    with open_expanded(path, "sentence pairs", 1 << 40, ratio=math.inf) as file:
        assert sum(1 for _ in file) == 70_000


@settings(max_examples=200)
@given(data=st.data())
def test_damage_is_refused_or_harmless(data, tmp_path_factory):
    """The checksum detects a flipped bit, unless it is in the header's time and system."""
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


zstd = zstd_module()
TEXT = b"".join(b"line %d of some text\n" % i for i in range(2000))


def skippable(content=b"", number=0) -> bytes:
    return bytes([0x50 + number]) + b"\x2a\x4d\x18" + len(content).to_bytes(4, "little") + content


def with_window(log, content=TEXT) -> bytes:
    """Returns a frame with a window of 2 ** log bytes, as if written to a pipe."""
    packer = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: log})
    return packer.compress(content) + packer.flush()


@given(
    blocks=blocks, level=st.integers(1, 19), skipped=st.lists(st.binary(max_size=9), max_size=3), first=st.booleans()
)
def test_frames_are_read(blocks, level, skipped, first, tmp_path_factory):
    """Frames are one after the other, with empty ones between them."""
    parts = [block * count for block, count in blocks] + [b"."]
    packed = [zstd.compress(part, level) for part in parts]
    for number, content in enumerate(skipped):
        packed.insert(0 if first else min(number + 1, len(packed)), skippable(content, number))
    path = tmp_path_factory.getbasetemp() / "round.zst"
    path.write_bytes(b"".join(packed))
    assert both(path) == b"".join(parts)


def test_a_frame_with_a_checksum_and_one_whose_size_is_not_told(path):
    packer = zstd.ZstdCompressor(options={zstd.CompressionParameter.checksum_flag: 1})
    path.write_bytes(packer.compress(TEXT) + packer.flush())
    assert both(path) == TEXT
    damaged = bytearray(path.read_bytes())
    damaged[-1] ^= 1
    path.write_bytes(damaged)
    assert "checksum" in both(path)


def test_what_is_broken_is_refused(path):
    packed = zstd.compress(TEXT)
    for content, message in [
        (packed[:-1], "ends too early"),
        (packed[: len(packed) // 2], "ends too early"),
        (packed[:4], "ends too early"),
        (packed + b"more", "other bytes after its end"),
        (packed + bytes(4), "other bytes after its end"),
        (packed + packed[:-3], "ends too early"),
        (packed[:5] + b"\xff" * 40 + packed[45:], "Unable to decompress|corrupt"),
        (packed + skippable(b"abc")[:-1], "ends too early"),
        (packed + skippable()[:6], "ends too early"),
        (packed + b"\x50\x2a\x4d\x18\xff\xff\xff\xffabc", "ends too early"),
    ]:
        path.write_bytes(content)
        found = both(path)
        assert isinstance(found, str), content[:40]
        assert any(word in found for word in message.split("|")), found
        assert f"{path}: thing: not a complete zstd file" in found and found.endswith("fetch or make it again")


def test_nothing_inside(path):
    for content in (zstd.compress(b""), skippable(b"abc")):
        path.write_bytes(content)
        with pytest.raises(ModelFileError, match="empty inside its zstd file"):
            expanded(path, "thing", LIMIT)


@pytest.mark.slow
def test_many_frames_without_content_are_no_hang(path):
    for frame in (zstd.compress(b""), skippable()):
        path.write_bytes(frame * 70_000)
        assert "more than 65536 zstd members" in both(path)


def test_windows_are_those_that_the_program_takes(path):
    path.write_bytes(with_window(27))
    assert both(path) == TEXT
    for log in (28, 31):
        path.write_bytes(with_window(log))
        assert "too much memory" in both(path)


def test_a_giant_window_is_refused_before_it_is_there(path):
    """In a process that may have 1 GiB of memory in all: its window would be 2 GiB."""
    path.write_bytes(with_window(31))
    code = f"""
from cpunmt.files.input_files import expanded
try:
    expanded({str(path)!r}, "thing", 1 << 40)
except Exception as error:
    print(type(error).__name__, error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30)),
        capture_output=True,
        text=True,
    )
    assert done.stdout.startswith("ModelFileError") and "too much memory" in done.stdout, done.stderr


def test_an_index_of_frames_that_a_reader_may_skip(path):
    """As pzstd and the seekable form write it: before and after the content."""
    path.write_bytes(skippable(b"size") + zstd.compress(TEXT) + skippable(bytes(100), 14))
    assert both(path) == TEXT


@settings(max_examples=200)
@given(data=st.data())
def test_damage_is_an_error_or_other_content_but_no_crash(data, tmp_path_factory):
    packed = bytearray(zstd.compress(TEXT[:3000]))
    for _ in range(data.draw(st.integers(1, 3))):
        packed[data.draw(st.integers(0, len(packed) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    path = tmp_path_factory.getbasetemp() / "damaged.zst"
    path.write_bytes(packed)
    found = both(path)
    assert isinstance(found, str) or len(found) <= RATIO * len(packed) + (1 << 20)


def test_a_python_without_zstd_says_what_to_install(path):
    path.write_bytes(zstd.compress(TEXT))
    code = f"""
import sys
sys.modules["compression"] = sys.modules["backports"] = sys.modules["backports.zstd"] = None
from cpunmt.files.input_files import expanded
try:
    expanded({str(path)!r}, "vocabulary", 1 << 20)
except Exception as error:
    print(type(error).__name__, error)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    expected = f"ModelFileError {path}: vocabulary is packed with zstd, and this Python cannot read it; run: "
    assert done.stdout == expected + "pip install backports.zstd\n", done.stderr


def test_names_and_first_bytes():
    assert [plain_name(name) for name in ("a.bin.zst", "a.bin.gz", "a.bin", "zst")] == [
        "a.bin",
        "a.bin",
        "a.bin",
        "zst",
    ]
    named = {"a.gz.zst": "a.gz", "a.zst.gz": "a.zst", "A.ZST": "A", "x.y/a": "x.y/a", "x.gz/a": "x.gz/a", ".gz": ".gz"}
    assert {name: plain_name(name) for name in named} == named
    assert [
        packing(start) for start in (b"", b"\x1f", b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x5f\x2a\x4d\x18", b"PK")
    ] == [*(None, None, "gzip", "zstd", "zstd", None)]
    skipped = [packing(bytes([first]) + b"\x2a\x4d\x18") for first in (0x4F, 0x50, 0x5F, 0x60)]
    assert skipped == [None, "zstd", "zstd", None]
    assert input_files.ENDINGS == (".gz", ".zst")
