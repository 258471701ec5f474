"""One file: interrupted anywhere, lied about, resumed; finally right, or refused and removed."""

import gzip
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cpunmt.errors import CpunmtError
from cpunmt.files.input_files import zstd_module
from cpunmt.registry import connection, download, entries
from cpunmt.registry.entries import RemoteFile
from tests.registry.downloading import CONTENT, PATH, names, ranges, remote, run
from tests.registry.http_server import Fault, serving
from tests.registry.shapes import git_blob, noise, sha256
from tests.support.command_line import ROOT


def test_a_file(server, tmp_path):
    assert run(remote(server), tmp_path).read_bytes() == CONTENT
    assert names(tmp_path) == ["model.bin"]
    assert run(remote(server), tmp_path) == tmp_path / "model.bin"
    assert ranges(server) == [None]  # the second time it was there


def test_the_name_is_there_only_when_all_is(server, tmp_path):
    """Other processes see the part meanwhile, and no file."""
    server.faults[PATH] = [Fault(break_after=100_000), None]
    seen = []
    download.download(remote(server), tmp_path, lambda count: seen.append(names(tmp_path)), [].append)
    assert len(seen) > 2 and not any("model.bin" in found for found in seen)
    assert names(tmp_path) == ["model.bin"]


@pytest.mark.parametrize("content", [b"", b"x"])
def test_small_files(server, tmp_path, content):
    assert run(remote(server, content), tmp_path).read_bytes() == content


def test_a_broken_connection_is_continued(server, tmp_path, said):
    server.faults[PATH] = [Fault(break_after=100_000), Fault(end_after=50_000), None]
    assert run(remote(server), tmp_path, said).read_bytes() == CONTENT
    assert ranges(server) == [None, "bytes=100000-", "bytes=150000-"]
    assert len(said) == 2
    tags = [request.headers.get("If-Range") for request in server.requests]
    assert tags[0] is None and tags[1] == tags[2] != ""


@pytest.mark.parametrize(
    ("faults", "asked"),
    [
        ([Fault(break_after=1000), Fault(ignore_range=True)], ["bytes=1000-"]),  # it knows no ranges
        ([Fault(break_after=1000), Fault(wrong_range=True), None], ["bytes=1000-", None]),
        ([Fault(break_after=1000, stall=0.3), None], ["bytes=1000-"]),  # a pause is a broken connection
    ],
)
def test_what_a_server_may_do_to_a_rest(server, tmp_path, monkeypatch, faults, asked):
    monkeypatch.setattr(connection, "TIMEOUT", 0.1)
    server.faults[PATH] = faults
    assert run(remote(server), tmp_path).read_bytes() == CONTENT
    assert ranges(server) == [None, *asked]


@pytest.mark.parametrize(
    ("known", "there", "fault"),
    [
        (None, CONTENT[:-1] + b"?", None),  # a damaged file
        ({"size": len(CONTENT)}, CONTENT[:-1], None),  # one of another size, also where no digest is known
        ({"size": len(CONTENT), "sha256": sha256(CONTENT).upper()}, b"", None),
        ({"size": None}, b"", Fault(announce=0)),  # its size is unknown
        # one that changes meanwhile is not mixed: only its size is known, so only the tag shows it
        ({"size": len(CONTENT)}, b"", Fault(content=noise("other", len(CONTENT)), break_after=1000)),
    ],
)
def test_a_file_comes_anew(server, tmp_path, known, there, fault):
    (tmp_path / "model.bin").write_bytes(there)
    server.faults[PATH] = [fault, None]
    assert run(remote(server, **(known or {})), tmp_path).read_bytes() == CONTENT


def test_another_run_continues(server, tmp_path):
    server.faults[PATH] = [Fault(break_after=1000), *[Fault(status=500)] * 4, None]
    with pytest.raises(CpunmtError, match="5 times in a row"):
        run(remote(server), tmp_path)
    assert names(tmp_path) == ["model.bin.etag", "model.bin.part"]
    assert (tmp_path / "model.bin.part").read_bytes() == CONTENT[:1000]
    server.requests.clear()
    assert run(remote(server), tmp_path).read_bytes() == CONTENT
    assert ranges(server) == ["bytes=1000-"] and names(tmp_path) == ["model.bin"]


def test_steady_progress_is_not_given_up(server, tmp_path, monkeypatch):
    monkeypatch.setattr(download, "_ENOUGH_PROGRESS", 20_000)
    server.faults[PATH] = [Fault(break_after=20_000)]
    assert run(remote(server), tmp_path).read_bytes() == CONTENT
    assert len(server.requests) == 15


def test_too_little_progress_is(server, tmp_path):
    server.faults[PATH] = [Fault(break_after=1)]
    with pytest.raises(CpunmtError, match="ended after|reset|5 times in a row"):
        run(remote(server), tmp_path)
    assert len(server.requests) == 5


@pytest.mark.parametrize("growth", [0, 21_000])
def test_a_server_that_drops_what_it_sent(server, tmp_path, monkeypatch, growth):
    """It sends some, then the wrong range, so that all begins anew: that is not progress, however often."""
    monkeypatch.setattr(download, "_ENOUGH_PROGRESS", 20_000)
    for i in range(14):
        server.faults.setdefault(PATH, []).extend([Fault(end_after=25_000 + i * growth), Fault(wrong_range=True)])
    with pytest.raises(CpunmtError, match="5 times in a row"):
        run(remote(server), tmp_path)
    assert len(server.requests) < 20


@pytest.mark.parametrize(
    "tag", [b'"a"\r\nX-Evil: 1\xff', b'"a"\n', b"", b"\xff\xfe", '"é"'.encode(), b'"' + b"a" * 70_000 + b'"', None]
)
def test_a_damaged_tag_is_none(server, tmp_path, tag):
    """None: a folder in its place, which the next tag cannot replace."""
    (tmp_path / "model.bin.part").write_bytes(CONTENT[:1000])
    if tag is None:
        (tmp_path / "model.bin.etag").mkdir()
        with pytest.raises(CpunmtError, match="cannot be written: .*; what has come is kept; check the folder"):
            run(remote(server), tmp_path)
        return
    (tmp_path / "model.bin.etag").write_bytes(tag)
    assert run(remote(server), tmp_path).read_bytes() == CONTENT
    assert ranges(server) == ["bytes=1000-"] and "If-Range" not in server.requests[0].headers


PAGE = b"<!DOCTYPE html>\n<html><body>Welcome to our network, caf\xc3\xa9 guest</body></html>\n" * 20


@pytest.mark.parametrize("content", [PAGE, b"\n\n" + PAGE, PAGE.decode().encode("latin-1"), b'{"error": 1}', b""])
@pytest.mark.parametrize("path", ["/cdn/model.bin", "/cdn/vocab.spm", "/cdn/lex.bin.gz", "/cdn/vocab.spm.gz"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_page_in_place_of_a_file_without_a_digest(server, tmp_path, content, path, pack):
    file = RemoteFile(server.url + path, path.rpartition("/")[2])
    server.content[path] = pack(content)
    if pack is bytes or path.endswith(".gz"):  # else it stays packed, and its checksum tells when it is read
        with pytest.raises(CpunmtError, match="it is text or empty, expected a model's binary file: .*; removed"):
            run(file, tmp_path)
        assert names(tmp_path) == []
    server.content[path] = pack(CONTENT)
    assert names(tmp_path) == [] and run(file, tmp_path).name in names(tmp_path)


def test_a_rest_of_something_else_is_dropped(server, tmp_path, said):
    (tmp_path / "model.bin.part").write_bytes(bytes(5000))
    assert run(remote(server), tmp_path, said).read_bytes() == CONTENT
    assert ranges(server) == ["bytes=5000-", None]
    assert "SHA-256 is" in said[0] and "anew" in said[0]


@pytest.mark.parametrize("size", [len(CONTENT), len(CONTENT) + 1, 2 * len(CONTENT)])
def test_a_rest_as_long_as_the_file_or_longer(server, tmp_path, size):
    (tmp_path / "model.bin.part").write_bytes(bytes(size))
    assert run(remote(server), tmp_path).read_bytes() == CONTENT
    assert ranges(server) == [None]


def test_a_whole_rest_needs_no_request(server, tmp_path):
    (tmp_path / "model.bin.part").write_bytes(CONTENT)
    assert run(remote(server), tmp_path).read_bytes() == CONTENT
    assert server.requests == []


def test_a_wrong_digest(server, tmp_path):
    wrong = CONTENT[:-1] + bytes([CONTENT[-1] ^ 1])
    server.faults[PATH] = [Fault(content=wrong)]
    with pytest.raises(CpunmtError, match=f"SHA-256 is {sha256(wrong)}, expected {sha256(CONTENT)}; removed"):
        run(remote(server), tmp_path)
    assert names(tmp_path) == [] and len(server.requests) == 1


def test_git_digests(server, tmp_path):
    assert run(remote(server, size=len(CONTENT), git_blob=git_blob(CONTENT)), tmp_path).read_bytes() == CONTENT
    with pytest.raises(CpunmtError, match=f"git's SHA-1 is {git_blob(CONTENT)}, expected {'0' * 40}"):
        run(remote(server, size=len(CONTENT), git_blob="0" * 40), tmp_path)


@pytest.mark.parametrize("size", [len(CONTENT) - 1, len(CONTENT) + 1, 1 << 40])
def test_a_wrong_size(server, tmp_path, size):
    with pytest.raises(CpunmtError, match=f"the server has {len(CONTENT)} bytes, the registry says {size}"):
        run(remote(server, size=size, sha256=sha256(CONTENT)), tmp_path)
    assert names(tmp_path) == []


@pytest.mark.parametrize("size", [1000, None])
def test_more_than_announced_is_not_written(server, tmp_path, monkeypatch, size):
    monkeypatch.setattr(download, "LARGEST_MODEL", 2000)
    server.faults[PATH] = [Fault(announce=0)]
    with pytest.raises(CpunmtError, match=f"more comes than the expected {size or 2000} bytes; removed"):
        run(remote(server, size=size), tmp_path)
    assert names(tmp_path) == []


def test_an_announced_size_above_the_limit(server, tmp_path):
    server.faults[PATH] = [Fault(announce=entries.LARGEST_MODEL + 1)]
    with pytest.raises(CpunmtError, match=f"expected at most {entries.LARGEST_MODEL}; not fetched"):
        run(remote(server, size=None), tmp_path)
    assert names(tmp_path) == []


def test_not_there(server, tmp_path):
    file = remote(server)
    del server.content[PATH]
    with pytest.raises(CpunmtError, match="answers 404"):
        run(file, tmp_path)
    assert names(tmp_path) == []


def test_a_full_disk(server, tmp_path):
    """A limit on the size of files replaces it: writing really fails in the middle."""
    file = remote(server)
    code = f"""
import resource
from pathlib import Path
from cpunmt.registry.download import download
from cpunmt.registry.entries import RemoteFile
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    download({file!r}, Path({str(tmp_path)!r}), lambda count: None, print)
except Exception as error:
    print(type(error).__name__, error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert done.stdout.startswith(f"CpunmtError {tmp_path / 'model.bin.part'}: cannot be written: "), done
    assert "make room and fetch again" in done.stdout and done.stderr == ""
    assert (tmp_path / "model.bin.part").read_bytes() == CONTENT[:100_000]
    assert run(file, tmp_path).read_bytes() == CONTENT  # there is room now
    assert ranges(server) == [None, "bytes=100000-"]


def test_a_folder_that_cannot_be_written(server, tmp_path):
    with pytest.raises(CpunmtError, match="cannot be written: No such file or directory; .*kept; check the folder and"):
        run(remote(server), tmp_path / "nowhere")


def test_received_files_are_synced(server, tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(download, "sync", lambda path: synced.append((path.name, path.stat().st_size)))
    run(remote(server), tmp_path)
    packed = gzip.compress(CONTENT)
    (tmp_path / "model.bin").unlink()
    run(remote(server, packed, PATH + ".gz", sha256=sha256(packed)), tmp_path)
    assert synced == [("model.bin.part", len(CONTENT))] * 2


def test_counted_bytes_are_taken_back(server, tmp_path):
    """As many as were counted, when more comes than announced."""
    counts = []
    server.faults[PATH] = [Fault(announce=0)]
    with pytest.raises(CpunmtError, match="more comes than the expected 299999 bytes"):
        download.download(remote(server, size=len(CONTENT) - 1), tmp_path, counts.append, [].append)
    assert sum(counts) == 0 and max(counts) > 0


def test_a_weak_tag_replaces_an_earlier_one(server, tmp_path):
    """The rest of the earlier content is not continued by that tag."""
    (tmp_path / "model.bin.part").write_bytes(b"")
    (tmp_path / "model.bin.etag").write_text('"old"')
    server.faults[PATH] = [Fault(break_after=1000, tag='W/"new"'), None]
    assert run(remote(server), tmp_path).read_bytes() == CONTENT
    assert [request.headers.get("If-Range") for request in server.requests] == [None, None]


def test_a_range_that_is_refused_without_a_rest(server, tmp_path):
    server.faults[PATH] = [Fault(status=416)]
    with pytest.raises(CpunmtError, match="answers 416"):
        run(remote(server), tmp_path)
    assert len(server.requests) == 1


FAULTS = st.builds(
    Fault,
    break_after=st.none() | st.integers(0, 5000),
    end_after=st.none() | st.integers(0, 5000),
    status=st.sampled_from([None] * 6 + [404, 416, 429, 500]),
    content=st.none() | st.binary(max_size=4),
    announce=st.none() | st.integers(0, 5000),
    ignore_range=st.booleans(),
    wrong_range=st.booleans(),
)
SMALL = noise("small", 4000)


@pytest.fixture(scope="module")
def one_server():
    with serving() as server:
        yield server


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(faults=st.lists(FAULTS, max_size=4), rest=st.binary(max_size=10), kept=st.integers(0, 4000))
def test_whatever_happens_the_file_is_right_or_not_there(one_server, tmp_path_factory, faults, rest, kept):
    folder = tmp_path_factory.mktemp("fetched")
    one_server.content[PATH], one_server.faults[PATH] = SMALL, [*faults, None]
    if kept:
        (folder / "model.bin.part").write_bytes(SMALL[:kept] + rest)
    file = RemoteFile(one_server.url + PATH, "model.bin", len(SMALL), sha256(SMALL))
    for _ in range(len(faults) + 2):  # run it again as a user would
        try:
            path = download.download(file, folder, lambda count: None, lambda text: None)
        except CpunmtError:
            assert not (folder / "model.bin").exists()
        else:
            assert path.read_bytes() == SMALL and names(folder) == ["model.bin"]
            return
    raise AssertionError("the server was good in the end, and still nothing came")


@pytest.mark.parametrize("known", [{}, {"size": len(CONTENT)}])
@pytest.mark.parametrize("total", [len(CONTENT) - 1, len(CONTENT), len(CONTENT) + 1, "*", entries.LARGEST_MODEL + 1])
def test_a_range_whose_header_tells_another_total(server, tmp_path, said, known, total):
    """The registry's size counts; without one, the server's, up to the limit of models."""
    file = remote(server, **(known or {"unpacked_size": None}))
    server.faults[PATH] = [Fault(break_after=100_000), Fault(total=total), None]
    lies = total not in (len(CONTENT), "*")
    if known or total in (len(CONTENT), len(CONTENT) + 1, "*"):
        assert run(file, tmp_path, said).read_bytes() == CONTENT
        expected = [True, False] if not lies else [True, False, True] if known else [True, False, False, True]
        assert [value is None for value in ranges(server)] == expected
        return
    with pytest.raises(CpunmtError) as raised:
        run(file, tmp_path, said)
    expected = {
        len(CONTENT) - 1: "more comes than the expected 299999 bytes; removed",
        entries.LARGEST_MODEL + 1: f"expected at most {entries.LARGEST_MODEL}; not fetched",
    }
    assert expected[total] in str(raised.value)


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
        (packed[:-5], "it is damaged"),
        (packed[:1000] + b"!!!!" + packed[1004:], "it is damaged|the unpacked SHA-256 is"),
        (packed + b"more", "it is damaged"),
    ]:
        (tmp_path / "model.bin").unlink(missing_ok=True)
        server.content[PATH + ending] = damaged
        with pytest.raises(CpunmtError, match=message):
            run(file, tmp_path)
        assert names(tmp_path) == []


def test_gzip_without_a_digest_has_its_own(server, tmp_path):
    packed = gzip.compress(CONTENT)
    server.faults[PATH + ".gz"] = [Fault(content=packed[:-8] + bytes(8))]
    with pytest.raises(CpunmtError, match="it is damaged"):
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
    """The rest of an earlier run was right, so it cannot be the reason for the wrong content."""
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
