"""Limits of what registries and archives may give, at their edges: the limit itself is allowed, one more is not."""

import zipfile

import pytest

from cpunmt.errors import CpunmtError
from cpunmt.registry import archive, connection, store


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
    assert len(said) == 1
    with pytest.raises(CpunmtError, match="asks to wait"):
        connection.Attempts("url", said.append).failed(connection.Interrupted("busy", 0.011))


def test_the_longest_name_of_a_folder():
    longest, longer = "a" * 100, "a" * 101
    assert store.folder_of(f"opus:{longest}").name == longest
    cut = store.folder_of(f"opus:{longer}").name
    assert len(cut) < 100 and cut.startswith("a" * 80 + "=")
