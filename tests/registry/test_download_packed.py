"""One packed file: checked as it came, unpacked, and checked again; bombs and wrong digests leave nothing behind."""

import gzip

import pytest

from cpunmt.errors import CpunmtError
from cpunmt.files.input_files import zstd_module
from cpunmt.registry import download
from tests.registry.downloading import CONTENT, PATH, names, ranges, remote, run
from tests.registry.http_server import Fault
from tests.registry.shapes import sha256

PACKED = [(gzip.compress, ".gz"), (lambda content: zstd_module().compress(content), ".zst")]


def test_a_rest_longer_than_a_file_of_unknown_size(server, tmp_path):
    packed = gzip.compress(CONTENT)
    (tmp_path / "model.bin.gz.part").write_bytes(packed + b"and more")
    file = remote(server, packed, PATH + ".gz", unpacked_sha256=sha256(CONTENT))
    assert run(file, tmp_path).read_bytes() == CONTENT
    assert len(server.requests) == 2 and names(tmp_path) == ["model.bin"]  # 416, then all of it


def test_a_login_page_instead(server, tmp_path):
    page = b"<html>Welcome to our network</html>"
    server.faults[PATH + ".gz"] = [Fault(content=page)]
    with pytest.raises(CpunmtError, match="the unpacked size is|the unpacked SHA-256 is"):
        run(remote(server, b"", PATH + ".gz", unpacked_sha256=sha256(CONTENT)), tmp_path)
    assert names(tmp_path) == []


@pytest.mark.parametrize(("pack", "ending"), PACKED)
def test_what_is_packed_is_unpacked_and_checked_inside(server, tmp_path, pack, ending):
    packed = pack(CONTENT)
    file = remote(server, packed, PATH + ending, unpacked_sha256=sha256(CONTENT))
    path = run(file, tmp_path)
    assert path == tmp_path / "model.bin" and path.read_bytes() == CONTENT and names(tmp_path) == ["model.bin"]
    assert run(file, tmp_path) == path and len(server.requests) == 1  # it is there
    path.write_bytes(CONTENT[:-1] + b"?")
    assert run(file, tmp_path).read_bytes() == CONTENT and len(server.requests) == 2
    for damaged, message in [
        (pack(CONTENT + b"x"), "the unpacked SHA-256 is"),
        (packed[:-5], "damaged one"),
        (packed[:1000] + b"!!!!" + packed[1004:], "damaged one|the unpacked SHA-256 is"),
        (packed + b"more", "damaged one"),
    ]:
        (tmp_path / "model.bin").unlink(missing_ok=True)
        server.content[PATH + ending] = damaged
        with pytest.raises(CpunmtError, match=message):
            run(file, tmp_path)
        assert names(tmp_path) == []


def test_gzip_without_a_digest_has_its_own(server, tmp_path):
    packed = gzip.compress(CONTENT)
    server.faults[PATH + ".gz"] = [Fault(content=packed[:-8] + bytes(8))]
    with pytest.raises(CpunmtError, match="damaged one"):
        run(remote(server, packed, PATH + ".gz", size=None), tmp_path)


@pytest.mark.parametrize(("pack", "ending"), PACKED)
def test_bombs(server, tmp_path, monkeypatch, pack, ending):
    monkeypatch.setattr(download, "LARGEST_MODEL", 1 << 20)
    bomb = pack(bytes(2 << 20))
    for known in ({"size": None}, {"size": len(bomb), "sha256": sha256(bomb)}):
        with pytest.raises(CpunmtError, match="expands to more than 1048576 bytes"):
            run(remote(server, bomb, PATH + ending, **known), tmp_path)
        assert names(tmp_path) == []


@pytest.mark.parametrize(("pack", "ending"), PACKED)
def test_both_digests_and_both_sizes_count(server, tmp_path, pack, ending):
    packed = pack(CONTENT)
    right = {
        "size": len(packed),
        "sha256": sha256(packed),
        "unpacked_size": len(CONTENT),
        "unpacked_sha256": sha256(CONTENT),
    }
    assert run(remote(server, packed, PATH + ending, **right), tmp_path).read_bytes() == CONTENT
    for key, value, message in [
        ("size", len(packed) + 1, f"the server has {len(packed)} bytes, the registry says {len(packed) + 1}"),
        ("sha256", "0" * 64, f"SHA-256 is {sha256(packed)}, expected {'0' * 64}; removed"),
        (
            "unpacked_size",
            len(CONTENT) + 1,
            f"the unpacked size is {len(CONTENT)}, expected {len(CONTENT) + 1}; removed",
        ),
        ("unpacked_sha256", "0" * 64, f"the unpacked SHA-256 is {sha256(CONTENT)}, expected {'0' * 64}; removed"),
    ]:
        (tmp_path / "model.bin").unlink(missing_ok=True)
        with pytest.raises(CpunmtError, match=message):
            run(remote(server, packed, PATH + ending, **{**right, key: value}), tmp_path)
        assert names(tmp_path) == []


@pytest.mark.parametrize(("pack", "ending"), PACKED)
def test_a_packed_file_is_continued(server, tmp_path, said, pack, ending):
    packed = pack(CONTENT)
    server.faults[PATH + ending] = [Fault(break_after=100_000), None]
    file = remote(server, packed, PATH + ending, size=len(packed), sha256=sha256(packed), unpacked_size=len(CONTENT))
    assert run(file, tmp_path, said).read_bytes() == CONTENT
    assert ranges(server) == [None, "bytes=100000-"] and names(tmp_path) == ["model.bin"]


@pytest.mark.parametrize(("pack", "ending"), PACKED)
def test_what_came_as_the_registry_says_is_not_fetched_twice(server, tmp_path, pack, ending):
    """The rest of an earlier run was right, so it cannot be the reason for what is wrong inside."""
    packed = pack(CONTENT)
    (tmp_path / f"model.bin{ending}.part").write_bytes(packed[:1000])
    file = remote(server, packed, PATH + ending, size=len(packed), sha256=sha256(packed), unpacked_sha256="0" * 64)
    with pytest.raises(CpunmtError, match="the unpacked SHA-256 is .*; removed"):
        run(file, tmp_path)
    assert ranges(server) == ["bytes=1000-"] and names(tmp_path) == []


def test_a_run_that_ended_while_it_unpacked_is_gone_on_with(server, tmp_path):
    packed = zstd_module().compress(CONTENT)
    (tmp_path / "model.bin.zst.part").write_bytes(packed)
    (tmp_path / "model.bin.part").write_bytes(CONTENT[:1000])
    known = {"size": len(packed), "sha256": sha256(packed), "unpacked_sha256": sha256(CONTENT)}
    assert run(remote(server, packed, PATH + ".zst", **known), tmp_path).read_bytes() == CONTENT
    assert server.requests == [] and names(tmp_path) == ["model.bin"]


def test_gzip_that_the_server_unpacks_on_the_way(server, tmp_path):
    file = remote(server, CONTENT, PATH + ".gz", unpacked_sha256=sha256(CONTENT))
    assert run(file, tmp_path).read_bytes() == CONTENT
    assert names(tmp_path) == ["model.bin"]
    assert run(file, tmp_path).name == "model.bin" and len(server.requests) == 1
