"""Untrusted zip archives."""

import io
import os
import shutil
import stat
import types
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.errors import CpunmtError
from cpunmt.registry import archive, connection, store
from cpunmt.registry.archive import BrokenArchiveError, unpack
from tests.registry.shapes import OPUS_FILES, noise, zipped


def unpacked(folder, content) -> dict:
    """Returns {name: content} of an unpacked archive."""
    (folder / "x.zip").write_bytes(content)
    (folder / "out").mkdir(exist_ok=True)
    unpack(folder / "x.zip", folder / "out", "opus:en-de")
    return {path.name: path.read_bytes() for path in (folder / "out").iterdir()}


def test_an_archive(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_ino))
    assert unpacked(tmp_path, zipped(OPUS_FILES)) == OPUS_FILES
    assert sorted(synced) == sorted(path.stat().st_ino for path in (tmp_path / "out").iterdir())
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "out").iterdir()}
    assert all(not mode & 0o111 for mode in modes)  # nothing there is to be run


@pytest.mark.parametrize("name", ["../evil", "/evil", "a/b", "a\\b", "folder/", "nul", "metadata.json", ".x", "C:x"])
def test_names_that_leave_the_folder(tmp_path, name):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as opened:
        opened.writestr("good", b"1")
        info = zipfile.ZipInfo("x")
        info.filename = name  # its constructor would have changed some
        opened.writestr(info, b"2")
    with pytest.raises(CpunmtError, match="^opus:en-de: file name .* is refused"):
        unpacked(tmp_path, packed.getvalue())
    assert list((tmp_path / "out").iterdir()) == [] and not (tmp_path / "evil").exists()


def test_a_link_is_a_file(tmp_path):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as opened:
        info = zipfile.ZipInfo("link")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        opened.writestr(info, b"/etc/passwd")
    assert unpacked(tmp_path, packed.getvalue()) == {"link": b"/etc/passwd"}
    assert not (tmp_path / "out" / "link").is_symlink()


def test_a_name_twice(tmp_path):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as opened:
        opened.writestr("a", b"1")
        opened.writestr("A", b"2")
    with pytest.raises(CpunmtError, match="'A' twice"):
        unpacked(tmp_path, packed.getvalue())


def test_too_many_files(tmp_path):
    with pytest.raises(CpunmtError, match="1001 files in the archive, expected at most 1000"):
        unpacked(tmp_path, zipped({f"f{number}": b"" for number in range(1001)}))


def test_more_than_the_disk_has(tmp_path, monkeypatch):
    """The directory of the archive claims it."""
    monkeypatch.setattr(archive, "LARGEST_MODEL", 1 << 62)
    monkeypatch.setattr(archive, "_RATIO", 1 << 62)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as opened:
        opened.writestr("a", b"1")
        opened.filelist[0].file_size = 1 << 60
    with pytest.raises(CpunmtError, match=rf"needs {1 << 60} bytes in .*, which has \d+; make room"):
        unpacked(tmp_path, packed.getvalue())


def test_exactly_as_much_as_the_disk_has(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: types.SimpleNamespace(free=3))
    assert unpacked(tmp_path, zipped({"a": b"123"})) == {"a": b"123"}
    with pytest.raises(CpunmtError, match="needs 4 bytes in .*, which has 3; make room"):
        unpacked(tmp_path, zipped({"b": b"1234"}))


def test_an_archive_without_files(tmp_path):
    assert unpacked(tmp_path, zipped({})) == {}


@pytest.mark.parametrize("size", [10, 10_000])
def test_a_size_that_is_not_true(tmp_path, size):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr("a", bytes(1000))
        opened.filelist[0].file_size = size
    with pytest.raises(CpunmtError):
        unpacked(tmp_path, packed.getvalue())


def test_encrypted(tmp_path):
    content = bytearray(zipped({"a": b"x" * 100}))
    for signature in (b"PK\3\4", b"PK\1\2"):
        at = content.index(signature)
        content[at + (6 if signature == b"PK\3\4" else 8)] |= 1
    with pytest.raises(CpunmtError, match="encrypted"):
        unpacked(tmp_path, bytes(content))


@pytest.mark.parametrize("content", [b"", b"<html>", b"PK\5\6", noise("x", 1000)])
def test_no_archive(tmp_path, content):
    with pytest.raises(BrokenArchiveError, match="^opus:en-de: no zip archive, or .*; fetch again"):
        unpacked(tmp_path, content)


def test_a_long_name_in_a_header(tmp_path):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as opened:
        opened.writestr("a", b"x" * 70_000)
    content = bytearray(packed.getvalue())
    content[26:28] = (60_000).to_bytes(2, "little")
    with pytest.raises(BrokenArchiveError, match="a damaged one .*; fetch again$") as told:
        unpacked(tmp_path, bytes(content))
    assert len(str(told.value)) < 300


def test_a_cut_archive(tmp_path):
    for length in range(0, len(ARCHIVE) - 1, 97):
        with pytest.raises(BrokenArchiveError, match="cut off"):
            unpacked(tmp_path, ARCHIVE[:length])


@pytest.mark.parametrize(
    ("size", "message"),
    [(1 << 20, "a damaged one"), ((1 << 20) + 1, "far too many files, expected at most 1000"), (None, "far too many")],
)
def test_a_directory_is_measured_before_it_is_read(tmp_path, size, message):
    """None: a large archive (zip64)."""
    content = bytearray(zipped({"a": b"1"}))
    if size is None:
        content[-22:-22] = b"PK\6\7" + bytes(16)
    else:
        content[-10:-6] = size.to_bytes(4, "little")
    with pytest.raises(BrokenArchiveError, match=message):
        unpacked(tmp_path, bytes(content))


ARCHIVE = zipped({name: content[:200] for name, content in OPUS_FILES.items()})


@given(
    st.lists(st.tuples(st.integers(0, len(ARCHIVE) - 1), st.integers(1, 255)), min_size=1, max_size=3), st.booleans()
)
def test_damaged_archives(tmp_path_factory, flips, cut):
    """Each is refused, or its files match their checksums; no file appears outside."""
    content = bytearray(ARCHIVE)
    for place, change in flips:
        content[place] ^= change
    folder = tmp_path_factory.mktemp("damaged")
    try:
        files = unpacked(folder, bytes(content[: flips[0][0]] if cut else content))
    except CpunmtError:
        pass
    else:
        originals = {value[:200] for value in OPUS_FILES.values()}
        assert set(files.values()) <= originals  # a name or a date may have changed
    assert {path.name for path in folder.iterdir()} == {"x.zip", "out"}


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_files_and_bytes_of_an_archive(tmp_path, monkeypatch, more):
    path = tmp_path / "model.zip"
    with zipfile.ZipFile(path, "w") as file:
        for number in range(4):
            file.writestr(f"file{number}", b"x" * 10)
    for name, value, told in (
        ("_MOST_FILES", 4, "4 files in the archive"),
        ("LARGEST_MODEL", 40, "unpacks to 40 bytes"),
    ):
        folder = tmp_path / name
        folder.mkdir()
        with monkeypatch.context() as patch:
            patch.setattr(archive, name, value - more)
            if more > 0:
                with pytest.raises(archive.BrokenArchiveError, match=f"{told}.*, expected at most {value - more}"):
                    archive.unpack(path, folder, "here")
            else:
                archive.unpack(path, folder, "here")
                assert len(list(folder.iterdir())) == 4


def test_the_longest_wait_that_a_server_may_ask_for(monkeypatch):
    monkeypatch.setattr(connection, "LONGEST_WAIT", 0.01)
    said = []
    connection.Attempts("url", said.append).failed(connection.Interrupted("busy", 0.01))
    assert said == ["url: busy; trying again in 0 s"]
    with pytest.raises(CpunmtError, match="asks to wait"):
        connection.Attempts("url", said.append).failed(connection.Interrupted("busy", 0.011))


def test_the_longest_name_of_a_folder():
    longest, longer = "a" * 100, "a" * 101
    assert store.folder_of(f"opus:{longest}").name == longest
    cut = store.folder_of(f"opus:{longer}").name
    assert len(cut) < 100 and cut.startswith("a" * 80 + "=")
